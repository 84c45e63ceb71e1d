//! Requests to the client's model, which the user pays for. Needs the grant `sampling` and a client that supports it.
//! Newer MCP versions no longer have this: check [`crate::context::client`] and provide an alternative.

pub use crate::bindings::gatehouse::gate::sampling::{Answer, Question};

host_functions! {
    sampling:

    /// Asks the client's model.
    ///
    /// # Errors
    /// `denied` if the client does not offer its model.
    fn ask as ask_client_model(question: &Question) -> Answer;
}

impl Question {
    /// Creates a question without a system prompt or temperature.
    pub fn new(prompt: impl Into<String>, max_tokens: u32) -> Self {
        Self { prompt: prompt.into(), system: None, max_tokens, temperature: None }
    }
}
