//! Text compression without a language model. Always granted.

pub use crate::bindings::gatehouse::gate::{
    text::{CompactResult, DigestResult, ExtractResult},
    types::Fit,
};

host_functions! {
    text:

    /// Counts the tokens (o200k_base) of a text.
    fn count(text: &str) -> u32;

    /// Returns the parts of a text that answer `query`, in document order, within `budget` tokens. An empty query
    /// selects central, early and recurring parts. Gaps are marked: `[… lines 812-1,040: 3,100 tokens, "Calibration
    /// options" …]`.
    fn extract(text: &str, query: &str, budget: u32) -> ExtractResult;

    /// Re-encodes a text in fewer tokens without loss. `None` if no shorter form exists.
    fn compact(text: &str) -> Option<CompactResult>;

    /// Summarizes any document within `budget` tokens: findings first, then details, and parts that match `query`
    /// (which may be empty). A document that fits is returned unchanged.
    ///
    /// # Errors
    /// `invalid-arguments` if the budget is too small.
    fn digest(document: &str, query: &str, budget: u32) -> DigestResult;
}

impl Fit {
    /// Returns the name for replies, such as `good`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Good => "good",
            Self::Weak => "weak",
            Self::Nothing => "nothing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fake;

    #[test]
    fn a_fake_digest_gets_the_arguments() {
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
        let result = host.run(|| digest("[1]", "one", 64)).unwrap();
        assert_eq!((result.text.as_str(), result.findings.len()), ("[1] one 64", 1));
        let fault = Fake::new().run(|| digest("[1]", "", 64)).unwrap_err();
        assert_eq!(fault.message, "the test host does not implement 'text.digest'");
    }
}
