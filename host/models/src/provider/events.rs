//! Reads responses, as a whole or as events (server-sent events or JSON lines), with limits on bytes and time.

use std::time::Duration;

use gatehouse_net::{BodyError, Response, http_cause};
use tokio::time::{Instant, timeout_at};

/// Maximum bytes of a line. OpenAI's last event repeats the whole response with its sources.
const MAX_LINE: usize = 4 << 20;

/// Maximum bytes of a stream. Each piece of text arrives in an envelope many times its size.
const MAX_STREAM: usize = 64 << 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamError {
    Deadline,
    Silent,
    TooLong,
    /// The connection ended, for this reason.
    Connection(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFraming {
    Sse,
    Lines,
}

pub(super) async fn read_body(
    response: Response,
    deadline: Instant,
    most: usize,
) -> Result<Vec<u8>, StreamError> {
    let body = timeout_at(deadline, gatehouse_net::read_body(response, most))
        .await
        .map_err(|_| StreamError::Deadline)?;
    body.map_err(|error| match error {
        BodyError::TooLarge | BodyError::Stopped => StreamError::TooLong,
        BodyError::Broken(error, _) => StreamError::Connection(http_cause(error)),
    })
}

pub(crate) struct ResponseEvents {
    response: Response,
    framing: StreamFraming,
    deadline: Instant,
    silence: Duration,
    /// Bytes received but not returned.
    buffer: Vec<u8>,
    /// Prefix of `buffer` that has no line break.
    searched: usize,
    seen: usize,
    given: usize,
    ended: bool,
}

impl ResponseEvents {
    pub(crate) fn new(
        response: Response,
        framing: StreamFraming,
        deadline: Instant,
        silence: Duration,
    ) -> Self {
        Self {
            response,
            framing,
            deadline,
            silence,
            buffer: Vec::new(),
            searched: 0,
            seen: 0,
            given: 0,
            ended: false,
        }
    }

    /// Returns `true` if data arrived without any event.
    pub(crate) fn has_no_events(&self) -> bool {
        self.given == 0 && self.seen > 0
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended && self.buffer.is_empty()
    }

    /// Returns the data of the next event, possibly cut off. `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        let event = self.event().await?;
        self.given += usize::from(event.is_some());
        Ok(event)
    }

    async fn event(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        let mut data: Option<Vec<u8>> = None;
        while let Some(line) = self.line().await? {
            if self.framing == StreamFraming::Lines {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Ok(Some(line));
            }
            if line.is_empty() {
                if data.is_some() {
                    return Ok(data);
                }
                continue;
            }
            // Providers repeat the event's name in its data; comments keep the connection alive.
            let Some(value) = line.strip_prefix(b"data:") else { continue };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match &mut data {
                None => data = Some(value.to_vec()),
                Some(data) if data.len() + value.len() > MAX_LINE => return Err(StreamError::TooLong),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            }
        }
        Ok(data)
    }

    async fn line(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let mut line: Vec<u8> = self.buffer.drain(..=self.searched + end).collect();
                self.searched = 0;
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.ended {
                self.searched = 0;
                let rest = std::mem::take(&mut self.buffer);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            if self.buffer.len() > MAX_LINE || self.seen > MAX_STREAM {
                return Err(StreamError::TooLong);
            }
            let silent = Instant::now() + self.silence;
            match timeout_at(self.deadline.min(silent), self.response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    self.seen += chunk.len();
                    self.buffer.extend_from_slice(&chunk);
                }
                Ok(Ok(None)) => self.ended = true,
                Ok(Err(error)) => return Err(StreamError::Connection(http_cause(error))),
                Err(_) if silent < self.deadline => return Err(StreamError::Silent),
                Err(_) => return Err(StreamError::Deadline),
            }
        }
    }
}
