//! From a folder or a checkout to documents: which files there are, what text they hold, where it can be cut, and a
//! guide that tells what to look for. What comes of it goes through the port `DocumentStore`.
//!
//! Files are the adversary: every reader is bounded in size, depth and time, and what is left out is said. It knows no
//! database, no gate and no network.

mod chunks;
mod clean;
mod decode;
mod formats;
mod git;
mod guide;
mod headings;
mod index;
mod kinds;
mod produce;
mod read;
mod report;
#[cfg(test)]
mod testing;
mod walk;

pub use git::{GitCheckout, checkout};
pub use guide::GuidePolicy;
pub use index::{IndexSource, Options, index};
pub use report::{FileNotes, GuideOutcome, IndexProgress, IndexRunReport, OnIndexProgress};
