//! Preset parameters and token counting.

use gatehouse_sdk::{Count, Fault, models, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Vocabulary for counting the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BudgetEncoding {
    #[serde(rename = "o200k_base")]
    O200k,
    #[serde(rename = "cl100k_base")]
    Cl100k,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Maximum tokens of a reply, 256 to 100,000.
    pub budget_tokens: Count,
    /// Vocabulary for counting them: o200k_base or cl100k_base. Counts are estimates for models with other
    /// vocabularies.
    pub encoding: BudgetEncoding,
    /// Whether the host's language model, if configured, shortens long documents.
    pub use_llm: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { budget_tokens: Count::new(8_000), encoding: BudgetEncoding::O200k, use_llm: true }
    }
}

impl Params {
    pub(crate) fn budget(&self) -> u32 {
        self.budget_tokens.at_most(100_000).max(256)
    }

    pub(crate) fn count(&self, text: &str) -> Result<u32, Fault> {
        match self.encoding {
            BudgetEncoding::O200k => text::count(text),
            BudgetEncoding::Cl100k => {
                let counts = models::count_tokens(&[text.to_owned()], models::Encoding::Cl100kBase)?;
                counts.first().copied().ok_or_else(|| Fault::internal("the host counted no tokens"))
            }
        }
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self.encoding {
            BudgetEncoding::O200k => "o200k",
            BudgetEncoding::Cl100k => "cl100k",
        }
    }
}

/// Finds the largest value in `0..=max` that fits, by binary search.
pub(crate) fn longest_fitting<E>(max: usize, fits: impl Fn(usize) -> Result<bool, E>) -> Result<usize, E> {
    let (mut low, mut high) = (0, max);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle)? {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}
