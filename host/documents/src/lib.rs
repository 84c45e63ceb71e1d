//! Converts a directory or checkout to documents: reads the files, splits their text into chunks, and writes a
//! navigation guide. Stores the result through the `DocumentStore` port.
//!
//! Files are untrusted. Formats that need a parser are converted by gates. The report lists what was skipped.

mod chunks;
mod clean;
mod convert_file;
mod converters;
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

pub use converters::Converter;
pub use git::{GitCheckout, checkout};
pub use guide::GuidePolicy;
pub use index::{
    FileNotes, FolderScan, GuideOutcome, IndexProgress, IndexRunReport, IndexSource, OnIndexProgress,
    Options, index,
};
