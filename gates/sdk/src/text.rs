//! The host's compressors for text, without a language model. Always granted.

use crate::Fault;
pub use crate::bindings::gatehouse::gate::{
    text::{CompactResult, DigestResult, ExtractResult},
    types::Fit,
};

host_functions! {
    text:

    /// Tokens (o200k_base) of a text.
    fn count(text: &str) -> u32;

    /// Keeps what answers `query`, in the order of the document, within `budget` tokens (o200k_base), and says how well
    /// it is answered. An empty query keeps what is central, early and recurrent. Each gap has a mark that says which
    /// lines were left out: `[… lines 812-1,040: 3,100 tokens, "Calibration options" …]`.
    fn extract(text: &str, query: &str, budget: u32) -> ExtractResult;

    /// The same text in fewer tokens with nothing left out; none where there is no such form or where it is no shorter.
    fn compact(text: &str) -> Option<CompactResult>;

    /// Tells a document of any kind within `budget` tokens (o200k_base): findings first, then what stands out of its
    /// kind, and what matches `query` (which may be empty). A document that fits comes back as it is.
    ///
    /// # Errors
    /// `invalid-arguments` where the budget is too small for anything.
    fn digest(document: &str, query: &str, budget: u32) -> DigestResult;
}

/// Tokens (o200k_base) of a text, as [`count`] has them.
pub fn tokens(text: &str) -> Result<u32, Fault> {
    count(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn a_test_says_what_a_digest_is_and_hears_what_was_asked() {
        let host = Fake::new().digest(|document, query, budget| {
            let text = format!("{document} {query} {budget}");
            Ok(DigestResult {
                findings: vec![text.clone()],
                kind: "JSON".into(),
                text,
                tokens_in: 9,
                tokens_out: 5,
                shortened: true,
            })
        });
        let told = host.run(|| digest("[1]", "one", 64)).unwrap();
        assert_eq!((told.text.as_str(), told.findings.len()), ("[1] one 64", 1));
        let fault = Fake::new().run(|| digest("[1]", "", 64)).unwrap_err();
        assert_eq!(fault.message, "the test's host has no 'text.digest'");
    }
}
