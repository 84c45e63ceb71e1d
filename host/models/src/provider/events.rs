//! Reading an answer as it comes: whole, or event by event (server-sent events, or a JSON object a line),
//! each bounded in bytes and in time.

use std::time::Duration;

use gatehouse_net::{BodyError, Response, http_cause};
use tokio::time::{Instant, timeout_at};

/// The most bytes of a line. The last event of OpenAI repeats the whole answer with its sources.
const MAX_LINE: usize = 4 << 20;

/// The most bytes of a stream; each piece of text comes in a wrapping many times its size.
const MAX_STREAM: usize = 64 << 20;

/// Why nothing more comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StreamError {
    /// The deadline has passed.
    Deadline,
    /// Nothing came for as long as the provider may be silent.
    Silent,
    /// More came than is read.
    TooLong,
    /// The connection ended; why.
    Connection(String),
}

/// How events are told from each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFraming {
    /// Server-sent events.
    Sse,
    /// One a line.
    Lines,
}

/// Reads a body to its end.
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

/// The events of a stream.
pub(crate) struct ResponseEvents {
    response: Response,
    framing: StreamFraming,
    deadline: Instant,
    silence: Duration,
    /// What has come and is not yet given out.
    buffer: Vec<u8>,
    /// Up to where the buffer is known to have no line break.
    searched: usize,
    /// Bytes that have come.
    seen: usize,
    /// Events that were given out.
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

    /// Whether something came, and no event was in it.
    pub(crate) fn has_no_events(&self) -> bool {
        self.given == 0 && self.seen > 0
    }

    /// Whether the stream has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended && self.buffer.is_empty()
    }

    /// The data of the next event; none at the end of the stream. An event that the stream breaks off within
    /// comes as far as it came.
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
            // Every provider repeats the event's name in its data; comments keep the connection alive.
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
