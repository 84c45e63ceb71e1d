//! Embedding providers, one file each. `local` needs no network and is the default.

pub mod local;

pub use local::LocalEmbedder;
