//! Converts a directory or checkout to documents: reads the files, splits their text into chunks, and writes a
//! navigation guide. Stores the result through the `DocumentStore` port.
//!
//! Files are untrusted. Each reader limits size, depth and time, and the report lists what was skipped.

mod chunks;
mod clean;
mod convert_file;
mod decode;
mod formats;
mod front_matter;
mod git;
mod git_index;
mod guide;
mod headings;
mod ignore_rules;
mod index;
mod kinds;
#[cfg(test)]
mod testing;
mod walk;

pub use formats::to_text;
pub use git::{GitCheckout, checkout};
pub use guide::GuidePolicy;
pub use index::{
    FileNotes, GuideOutcome, IndexProgress, IndexRunReport, IndexSource, OnIndexProgress, Options, index,
};
