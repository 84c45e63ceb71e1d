//! Questions to the client's own model, which its owner pays for. Needs the grant `sampling`, and a client that still offers
//! it: the protocol has it no longer for new ones. [`crate::context::client`] says so; have a way without.

pub use crate::bindings::gatehouse::gate::sampling::{Answer, Question};

host_functions! {
    sampling:

    /// Asks the client's model.
    ///
    /// # Errors
    /// `denied` where the client does not offer its model.
    fn ask as ask_client_model(question: &Question) -> Answer;
}

impl Question {
    /// A question with nothing else to it.
    pub fn new(prompt: impl Into<String>, max_tokens: u32) -> Self {
        Self { prompt: prompt.into(), system: None, max_tokens, temperature: None }
    }
}
