//! Token counts with the vocabularies of OpenAI's models. Exact for those; for models with other
//! tokenizers (Claude, Gemini) they are estimates and are to be called so.

use bpe_openai::Tokenizer;
use gatehouse_core::ports::{TokenCounter, text::Encoding};

use crate::pieces;

/// More tokens than any text has.
const NO_LIMIT: usize = u32::MAX as usize;

/// Counts tokens. The vocabulary is unpacked on first use, which takes some 50 ms.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tokens;

fn tokenizer(encoding: Encoding) -> &'static Tokenizer {
    match encoding {
        Encoding::O200k => bpe_openai::o200k_base(),
        Encoding::Cl100k => bpe_openai::cl100k_base(),
    }
}

impl TokenCounter for Tokens {
    fn count(&self, text: &str, encoding: Encoding) -> usize {
        match encoding {
            Encoding::O200k => self.count_up_to(text, NO_LIMIT, encoding).unwrap_or(NO_LIMIT),
            Encoding::Cl100k => tokenizer(encoding).count(text),
        }
    }

    fn count_up_to(&self, text: &str, limit: usize, encoding: Encoding) -> Option<usize> {
        let tokenizer = tokenizer(encoding);
        match encoding {
            Encoding::O200k => pieces::count(tokenizer, text, limit),
            Encoding::Cl100k => tokenizer.count_till_limit(&tokenizer.normalize(text), limit),
        }
    }

    fn within<'a>(&self, text: &'a str, limit: usize, encoding: Encoding) -> &'a str {
        let tokenizer = tokenizer(encoding);
        let tokens = tokenizer.encode(text);
        let Some(kept) = tokens.get(..limit) else { return text };
        // Half a character may be left at the end.
        let kept = (0..limit.min(4)).find_map(|less| tokenizer.decode(&kept[..limit - less]));
        &text[..kept.map_or(0, |kept| kept.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_published_vocabularies() {
        // "hello world" is two tokens in both; tiktoken gives the same.
        assert_eq!(Tokens.count("hello world", Encoding::O200k), 2);
        assert_eq!(Tokens.count("hello world", Encoding::Cl100k), 2);
        assert_eq!(Tokens.count("", Encoding::O200k), 0);
    }

    #[test]
    fn counting_stops_at_the_limit_even_on_hostile_text() {
        let spaces = " ".repeat(1 << 20);
        assert_eq!(Tokens.count_up_to(&spaces, 10, Encoding::O200k), None);
        assert_eq!(Tokens.count_up_to("hello world", 10, Encoding::O200k), Some(2));
    }
}
