//! Reader for transports that receive one message after another.

use super::{InboundReader, ReadFuture, ServerMessage};

pub(in crate::downstream) struct MessageReader {
    inbound: InboundReader,
    reading: Option<ReadFuture>,
}

impl MessageReader {
    pub(in crate::downstream) fn new(inbound: &InboundReader) -> Self {
        Self { inbound: inbound.clone(), reading: None }
    }

    /// Reads a message. [`Self::large`] returns a large one.
    pub(in crate::downstream) fn add(&mut self, text: Vec<u8>) -> Option<ServerMessage> {
        match self.inbound.begin(text) {
            Ok(message) => message,
            Err(reading) => {
                self.reading = Some(reading);
                None
            }
        }
    }

    /// Finishes the large message, if there is one. Cancel safe.
    pub(in crate::downstream) async fn large(&mut self) -> Option<ServerMessage> {
        let message = self.reading.as_mut()?.await;
        self.reading = None;
        message
    }
}
