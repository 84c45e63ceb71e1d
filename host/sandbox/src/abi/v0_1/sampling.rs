//! `sampling`: questions to the client's model. Requires the grant `sampling`.

use super::gatehouse::gate::{
    sampling::{Answer, Host, Question},
    types::Fault,
};
use crate::{
    capability::client::{ModelQuestion, ModelReply},
    state::State,
};

impl Host for State {
    async fn ask(&mut self, question: Question) -> Result<Answer, Fault> {
        Ok(self.capabilities.ask_client_model(question.into()).await?.into())
    }
}

records! {
    Question => ModelQuestion { prompt, system, max_tokens, temperature };
    ModelReply => Answer { text, model, stop_reason };
}
