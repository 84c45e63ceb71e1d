//! The host's compressors for text, without a language model. Always granted.

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::text as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::text as host;

use crate::Fault;
pub use crate::bindings::gatehouse::gate::text::ExtractResult;

/// Keeps what answers `query`, in the order of the document, within `budget` tokens (o200k_base). An
/// empty query keeps the beginning.
pub fn extract(text: &str, query: &str, budget: u32) -> Result<ExtractResult, Fault> {
    host::extract(text, query, budget)
}
