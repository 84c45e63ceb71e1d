//! The wiki: what a page is, how a folder of pages is read, how a page's file is changed. Engines share
//! all of it. Knows no database; touches only folders that [`WikiRoots`] lets it touch.

mod dates;
pub(crate) mod edges;
pub(crate) mod edit;
pub(crate) mod edit_note;
pub(crate) mod file;
pub(crate) mod file_state;
pub(crate) mod folder;
mod front_matter;
pub(crate) mod ids;
pub(crate) mod index_file;
mod layout;
mod notes;
mod overview;
pub(crate) mod parse;
pub(crate) mod record;
pub(crate) mod roots;
pub(crate) mod text;
pub(crate) mod validate;
mod verbatim;

pub use index_file::{IndexFile, SEARCH_BACKENDS};
pub use parse::{ParsedPage, parse};
pub use roots::WikiRoots;

pub(crate) use dates::{rfc3339, stamp};
