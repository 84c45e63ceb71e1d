//! Messages of a transport that reads them one after the other.

use super::{InboundReader, ReadFuture, ServerMessage};

/// The reader of such a transport, with the large message that is being parsed.
pub(in crate::downstream) struct MessageReader {
    inbound: InboundReader,
    reading: Option<ReadFuture>,
}

impl MessageReader {
    pub(in crate::downstream) fn new(inbound: &InboundReader) -> Self {
        Self { inbound: inbound.clone(), reading: None }
    }

    /// Reads a message; a large one comes out of [`Self::large`].
    pub(in crate::downstream) fn add(&mut self, text: Vec<u8>) -> Option<ServerMessage> {
        match self.inbound.begin(text) {
            Ok(message) => message,
            Err(reading) => {
                self.reading = Some(reading);
                None
            }
        }
    }

    /// Finishes the large message that was added, if one was. May be dropped and called again.
    pub(in crate::downstream) async fn large(&mut self) -> Option<ServerMessage> {
        let message = self.reading.as_mut()?.await;
        self.reading = None;
        message
    }
}
