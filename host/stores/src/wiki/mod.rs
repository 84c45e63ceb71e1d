//! The wiki format: reads directories of pages and edits page files. All engines share it. Accesses only the
//! directories that [`WikiRoots`] allows.

pub(crate) mod edges;
pub(crate) mod edit;
pub(crate) mod edit_marker;
pub(crate) mod file;
pub(crate) mod folder;
pub(crate) mod ids;
pub(crate) mod index_file;
mod layout;
mod notes;
mod overview;
pub(crate) mod parse;
pub(crate) mod record;
pub(crate) mod roots;
pub(crate) mod validate;
mod verbatim;

pub use index_file::{IndexFile, SEARCH_BACKENDS};
pub use parse::{ParsedPage, parse};
pub use roots::WikiRoots;
