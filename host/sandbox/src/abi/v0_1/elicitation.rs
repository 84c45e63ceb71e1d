//! `elicitation`: questions to the person in front of the client. Granted as `elicitation`.

use super::gatehouse::gate::{
    elicitation::{Answer, Consent, Host},
    types::Fault,
};
use crate::{capability::client::PersonAnswer, state::State};

impl Host for State {
    async fn ask(&mut self, message: String, schema: String) -> Result<Answer, Fault> {
        Ok(match self.capabilities.ask_person(&message, &schema).await? {
            PersonAnswer::Accepted(content) => Answer::Accepted(content.to_string()),
            PersonAnswer::Declined => Answer::Declined,
            PersonAnswer::Cancelled => Answer::Cancelled,
        })
    }

    async fn open(&mut self, message: String, url: String) -> Result<Consent, Fault> {
        Ok(match self.capabilities.have_opened(&message, &url).await? {
            PersonAnswer::Accepted(_) => Consent::Accepted,
            PersonAnswer::Declined => Consent::Declined,
            PersonAnswer::Cancelled => Consent::Cancelled,
        })
    }
}
