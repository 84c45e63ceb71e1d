//! `elicitation`: questions to the person in front of the client. Granted as `elicitation`.

use super::gatehouse::gate::{
    elicitation::{Answer, Consent, Host},
    types::Fault,
};
use crate::{capability::client::PersonReply, state::State};

impl Host for State {
    async fn ask(&mut self, message: String, schema: String) -> Result<Answer, Fault> {
        Ok(match self.capabilities.ask_person(&message, &schema).await? {
            PersonReply::Accepted(content) => Answer::Accepted(content.to_string()),
            PersonReply::Declined => Answer::Declined,
            PersonReply::Cancelled => Answer::Cancelled,
        })
    }

    async fn open(&mut self, message: String, url: String) -> Result<Consent, Fault> {
        Ok(match self.capabilities.have_opened(&message, &url).await? {
            PersonReply::Accepted(_) => Consent::Accepted,
            PersonReply::Declined => Consent::Declined,
            PersonReply::Cancelled => Consent::Cancelled,
        })
    }
}
