//! Mapping of outgoing messages to streams of a session. Replies, progress, questions and log messages use the stream
//! of their request; everything else uses the stream of changes.

use rmcp::{
    model::{Extensions, GetExtensions, ServerJsonRpcMessage, ServerNotification},
    service::OriginatingRequestId,
};

use super::session::{CHANGES_STREAM, State};

impl State {
    /// Returns the stream for a message. `None` if its request is over.
    pub(super) fn stream_of(&self, message: &ServerJsonRpcMessage) -> Option<u64> {
        match message {
            ServerJsonRpcMessage::Response(response) => self.requests.get(&response.id).copied(),
            ServerJsonRpcMessage::Error(error) => match &error.id {
                Some(id) => self.requests.get(id).copied(),
                None => Some(CHANGES_STREAM),
            },
            ServerJsonRpcMessage::Notification(told) => Some(match &told.notification {
                ServerNotification::ProgressNotification(progress) => {
                    self.tokens.get(&progress.params.progress_token).copied().unwrap_or(CHANGES_STREAM)
                }
                said => self.related_stream(said.extensions()),
            }),
            ServerJsonRpcMessage::Request(asked) => Some(self.related_stream(asked.request.extensions())),
        }
    }

    fn related_stream(&self, said: &Extensions) -> u64 {
        let request = said.get::<OriginatingRequestId>();
        request.and_then(|request| self.requests.get(&request.0)).copied().unwrap_or(CHANGES_STREAM)
    }
}
