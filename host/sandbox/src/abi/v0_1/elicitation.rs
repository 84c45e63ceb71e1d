//! `elicitation`: questions to the client's user. Requires the grant `elicitation`.

use super::gatehouse::gate::{
    elicitation::{Answer, Consent, Host},
    types::Fault,
};
use crate::{capability::client::UserReply, state::State};

impl Host for State {
    async fn ask(&mut self, message: String, schema: String) -> Result<Answer, Fault> {
        Ok(match self.capabilities.ask_user(&message, &schema).await? {
            UserReply::Accepted(content) => Answer::Accepted(content.to_string()),
            UserReply::Declined => Answer::Declined,
            UserReply::Cancelled => Answer::Cancelled,
        })
    }

    async fn open(&mut self, message: String, url: String) -> Result<Consent, Fault> {
        Ok(match self.capabilities.ask_to_open_url(&message, &url).await? {
            UserReply::Accepted(_) => Consent::Accepted,
            UserReply::Declined => Consent::Declined,
            UserReply::Cancelled => Consent::Cancelled,
        })
    }
}
