//! The client at the other end of a call: what it can do, and the way to ask it something while the call runs.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    approval::ApprovalStore,
    outcome::Fault,
    question::{ClientQuestion, QuestionKind},
};

/// How much a message to the client matters, as RFC 5424 has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the words are those of the RFC")]
pub enum MessageLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// What a client says it can do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// As it calls itself; empty where it does not say.
    pub name: String,
    /// Its version, in its own words.
    pub version: String,
    /// The version of the protocol that it speaks; empty where it speaks none.
    pub protocol: String,
    /// Whether it can show a person a form.
    pub forms: bool,
    /// Whether it can show a person an address to open.
    pub urls: bool,
    /// Whether it lets its model be asked.
    pub sampling: bool,
    /// Whether it says which directories it works in.
    pub roots: bool,
    /// What it wants to be told of; none where it wants no messages.
    pub messages: Option<MessageLevel>,
}

impl ClientProfile {
    /// Whether it can be asked anything.
    pub fn can_answer(&self) -> bool {
        self.forms || self.urls || self.sampling || self.roots
    }
}

/// The client of one call.
#[async_trait]
pub trait CallingClient: Send + Sync {
    /// What it can do.
    fn profile(&self) -> ClientProfile;

    /// The same for all calls that run now for the same person at the same client; none where nobody knows.
    fn identity(&self) -> Option<usize> {
        None
    }

    /// What was approved in its session; none where it has none.
    fn approvals(&self) -> Option<&ApprovalStore> {
        None
    }

    /// Asks, and waits for as long as it takes: an answer to each question, as the protocol has it, in their order. Asked
    /// only what the client can do. Dropping the future takes the questions back.
    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault>;

    /// Asks for the directories that it works in, as `file:` addresses. Empty if it does not say. Dropping the future takes
    /// the question back.
    async fn roots(&self) -> Result<Vec<String>, Fault> {
        Ok(Vec::new())
    }

    /// Takes note that a call wanted to ask what the client cannot be asked.
    fn record_missing_capability(&self, _: QuestionKind) {}

    /// Tells the client something, in the name of `logger`. Never blocks; may drop messages.
    fn send_log_message(&self, level: MessageLevel, logger: &str, data: Value);
}

/// Nobody: whoever called can be asked nothing.
pub struct NoClient;

#[async_trait]
impl CallingClient for NoClient {
    fn profile(&self) -> ClientProfile {
        ClientProfile::default()
    }

    async fn ask(&self, _: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        Err(Fault::denied("Whoever made this call cannot be asked anything."))
    }

    fn send_log_message(&self, _: MessageLevel, _: &str, _: Value) {}
}
