//! Documents on any engine: repositories of files that were read elsewhere, kept, found and read again.

pub(crate) mod engine;
