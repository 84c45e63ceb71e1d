//! The models that the host can reach: a language model, with web search if its provider has it, an embedding model,
//! and token counts. Needs the grant `models`.
//!
//! ```
//! use gatehouse_sdk::{Fault, models::{self, Completion, Options}, testing};
//!
//! fn tldr(text: &str) -> Result<String, Fault> {
//!     let options = Options { max_tokens: Some(100), ..Options::default() };
//!     Ok(models::complete(&format!("In one sentence:\n{text}"), &options)?.text)
//! }
//!
//! // In a test:
//! let host = testing::Fake::new().complete(|prompt, _| {
//!     assert!(prompt.ends_with("a long text"));
//!     Ok(Completion::new("test/model", "Short."))
//! });
//! assert_eq!(host.run(|| tldr("a long text")).as_deref(), Ok("Short."));
//! ```

use serde_json::{Map, Value};

pub use crate::bindings::gatehouse::gate::models::{
    Completion, Depth, Embeddings, Encoding, Options, Purpose, Serving, TokenUse, WebSource,
};

host_functions! {
    models:

    /// Asks the language model. Long answers report progress to the client and stop when the call ends.
    fn complete(prompt: &str, options: &Options) -> Completion;

    /// Embeds up to 1,000 texts. A text gets no vector if the model knows none of its words.
    fn embed(texts: &[String], purpose: Purpose) -> Embeddings;

    /// Counts the tokens of each text.
    fn count_tokens(texts: &[String], encoding: Encoding) -> Vec<u32>;

    /// Returns the models in use, without contacting them.
    fn which() -> Serving;
}

impl Default for Options {
    /// Returns options for a quick answer in free text, without web search.
    fn default() -> Self {
        Self {
            system: None,
            schema: None,
            max_tokens: None,
            temperature: None,
            web_search: false,
            depth: Depth::Light,
            time_ms: None,
        }
    }
}

impl Completion {
    /// Creates a complete answer without sources, for tests.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: text.into(), sources: Vec::new(), model: model.into(), tokens: None, cut_short: None }
    }

    /// Returns the first JSON object in the text that has this key. Models often wrap requested JSON in fences and
    /// prose.
    ///
    /// ```
    /// use gatehouse_sdk::models::Completion;
    ///
    /// let answer = Completion::new("test/model", "Sure:\n```json\n{\"colors\": [\"red\"]}\n```");
    /// assert_eq!(answer.object("colors").unwrap()["colors"][0], "red");
    /// ```
    pub fn object(&self, key: &str) -> Option<Map<String, Value>> {
        let mut rest = self.text.as_str();
        for _ in 0..MAX_OBJECTS_TRIED {
            rest = &rest[rest.find('{')?..];
            let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
            match objects.next() {
                Some(Ok(object)) if object.contains_key(key) => return Some(object),
                Some(Ok(_)) => rest = &rest[objects.byte_offset()..],
                _ => rest = &rest[1..],
            }
        }
        None
    }
}

/// Maximum number of braces at which [`Completion::object`] tries to parse. Each attempt can scan the rest of the text.
const MAX_OBJECTS_TRIED: usize = 64;
