//! The client of a call: its capabilities, and questions to it while the call runs.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Fault,
    approval::ApprovalStore,
    question::{ClientQuestion, QuestionKind},
};

/// Severity of a log message to the client, as in RFC 5424.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// Capabilities that a client declares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientProfile {
    /// Its declared name, or empty.
    pub name: String,
    pub version: String,
    /// MCP version. Empty if the caller is not an MCP client.
    pub protocol: String,
    pub features: ClientFeatures,
    /// Minimum level of log messages. `None` if it wants none.
    pub messages: Option<MessageLevel>,
}

/// Features of a client that servers are told about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientFeatures {
    pub forms: bool,
    pub urls: bool,
    pub sampling: bool,
    /// Whether its model may call tools while it answers a server.
    pub sampling_tools: bool,
    pub roots: bool,
    /// Interfaces (MCP Apps).
    pub apps: bool,
    pub skills: bool,
}

impl ClientFeatures {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    pub fn can_answer(&self) -> bool {
        self.forms || self.urls || self.sampling || self.roots
    }

    /// Returns the features of both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self {
            forms: self.forms || other.forms,
            urls: self.urls || other.urls,
            sampling: self.sampling || other.sampling,
            sampling_tools: self.sampling_tools || other.sampling_tools,
            roots: self.roots || other.roots,
            apps: self.apps || other.apps,
            skills: self.skills || other.skills,
        }
    }
}

/// A working directory of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRoot {
    /// Usually a `file:` URL.
    pub uri: String,
    pub name: Option<String>,
}

/// Maximum roots to read from a client. More are ignored.
pub const MAX_ROOTS: usize = 64;

#[async_trait]
pub trait CallingClient: Send + Sync {
    fn profile(&self) -> ClientProfile;

    /// Returns an id shared by concurrent calls of the same user and client. `None` if unknown.
    fn identity(&self) -> Option<usize> {
        None
    }

    /// Returns the approvals of the client's session. `None` without a session.
    fn approvals(&self) -> Option<&ApprovalStore> {
        None
    }

    /// Asks questions that the client supports, and waits without a limit.
    ///
    /// Returns an answer per question, in order, as MCP defines them. Dropping the future withdraws the questions.
    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault>;

    /// Asks for the client's working directories, at most [`MAX_ROOTS`]. Empty if it lists none. Dropping the future
    /// withdraws the question.
    async fn roots(&self) -> Result<Vec<ClientRoot>, Fault> {
        Ok(Vec::new())
    }

    /// Replies to the client with a task that goes on in the background. Returns false if the client cannot follow a
    /// task, or has too many.
    fn begin_task(&self) -> bool {
        false
    }

    /// Records that a call needed a question that the client does not support.
    fn record_missing_capability(&self, _: QuestionKind) {}

    /// Sends a log message in the name of `logger`. Never blocks, and may drop messages.
    fn send_log_message(&self, level: MessageLevel, logger: &str, data: Value);
}

/// The client of calls that do not come from an MCP client. Cannot be asked anything.
pub struct NoClient;

#[async_trait]
impl CallingClient for NoClient {
    fn profile(&self) -> ClientProfile {
        ClientProfile::default()
    }

    async fn ask(&self, _: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        Err(Fault::denied("the caller cannot answer questions"))
    }

    fn send_log_message(&self, _: MessageLevel, _: &str, _: Value) {}
}
