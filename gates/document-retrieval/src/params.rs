//! What a preset may set, and how tokens are counted under it.

use gatehouse_sdk::{Count, Fault, models, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The vocabulary that the budget is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs, reason = "a variant with a description is a schema of its own, without a type")]
pub enum BudgetEncoding {
    #[serde(rename = "o200k_base")]
    O200k,
    #[serde(rename = "cl100k_base")]
    Cl100k,
}

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Tokens of a document that one reply carries at most, 256 to 100,000.
    pub budget_tokens: Count,
    /// The vocabulary that they are counted in: o200k_base or cl100k_base. For models with another one, counts are
    /// estimates.
    pub encoding: BudgetEncoding,
    /// Whether the host's language model shortens documents that are too long, where one is configured.
    pub use_llm: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { budget_tokens: Count::new(8_000), encoding: BudgetEncoding::O200k, use_llm: true }
    }
}

impl Params {
    /// The budget in tokens.
    pub(crate) fn budget(&self) -> u32 {
        self.budget_tokens.at_most(100_000).max(256)
    }

    /// Tokens of a text in the preset's vocabulary.
    pub(crate) fn count(&self, text: &str) -> Result<u32, Fault> {
        match self.encoding {
            BudgetEncoding::O200k => text::count(text),
            BudgetEncoding::Cl100k => {
                let counts = models::count_tokens(&[text.to_owned()], models::Encoding::Cl100kBase)?;
                counts.first().copied().ok_or_else(|| Fault::internal("the host counted no tokens"))
            }
        }
    }

    /// How the vocabulary is called where counts are told.
    pub(crate) fn unit(&self) -> &'static str {
        match self.encoding {
            BudgetEncoding::O200k => "o200k",
            BudgetEncoding::Cl100k => "cl100k",
        }
    }
}
