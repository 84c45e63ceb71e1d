//! The models that the host can reach: a language model, with web search where its provider has it, an
//! embedding model, and token counts. Needs the grant `models`.
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

    /// Asks the language model. Long answers report their progress to the client, and end with the call.
    fn complete(prompt: &str, options: &Options) -> Completion;

    /// Embeds up to 1,000 texts; a text of which the model knows no word has no vector.
    fn embed(texts: &[String], purpose: Purpose) -> Embeddings;

    /// Counts the tokens of each text.
    fn count_tokens(texts: &[String], encoding: Encoding) -> Vec<u32>;

    /// What serves now. Asks nobody.
    fn which() -> Serving;
}

impl Default for Options {
    /// A quick answer in free text, without web search.
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
    /// A whole answer without sources, as tests need them.
    pub fn new(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self { text: text.into(), sources: Vec::new(), model: model.into(), tokens: None, cut_short: None }
    }

    /// The first JSON object in the text that has this key. Models put fences and words around what they
    /// were asked for.
    ///
    /// ```
    /// use gatehouse_sdk::models::Completion;
    ///
    /// let answer = Completion::new("test/model", "Gladly:\n```json\n{\"colours\": [\"red\"]}\n```");
    /// assert_eq!(answer.object("colours").unwrap()["colours"][0], "red");
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

/// Braces at which [`Completion::object`] looks for one: each may cost as much time as the text is long.
const MAX_OBJECTS_TRIED: usize = 64;
