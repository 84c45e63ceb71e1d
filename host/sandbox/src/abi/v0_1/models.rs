//! Conversions for the interface `models`.

use gatehouse_core::ports::llm as core;

use super::gatehouse::gate::models as wit;

impl From<wit::Depth> for core::Depth {
    fn from(depth: wit::Depth) -> Self {
        match depth {
            wit::Depth::Light => Self::Light,
            wit::Depth::Deep => Self::Deep,
        }
    }
}

impl From<core::Completion> for wit::Completion {
    fn from(answer: core::Completion) -> Self {
        let source = |source: core::WebSource| wit::WebSource { url: source.url, title: source.title };
        Self {
            text: answer.text,
            sources: answer.sources.into_iter().map(source).collect(),
            model: answer.model,
            tokens: answer.tokens.map(|tokens| wit::TokenUse { input: tokens.input, output: tokens.output }),
            cut_short: answer.cut_short,
        }
    }
}
