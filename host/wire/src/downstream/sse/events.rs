//! Incremental parser of server-sent events with a size limit per event.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gatehouse_net::Error;
use sse_stream::Sse;

pub(crate) enum EventError {
    Broken(Error),
    TooLong,
}

/// Parses the events of a body. The stream ends after an error. `limit` is the maximum of an event in bytes.
pub(crate) fn events(
    body: impl Stream<Item = Result<Bytes, Error>> + Send + 'static,
    limit: usize,
) -> impl Stream<Item = Result<Sse, EventError>> + Send {
    let start = (Box::pin(body), Some(SseParser::new(limit)));
    let batches = stream::unfold(start, async |(mut body, parser)| {
        let mut parser = parser?;
        let mut parsed = Vec::new();
        let error = match body.next().await? {
            Ok(bytes) => parser.take(&bytes, |event| parsed.push(Ok(event))).err(),
            Err(error) => Some(EventError::Broken(error)),
        };
        let parser = error.is_none().then_some(parser);
        parsed.extend(error.map(Err));
        Some((stream::iter(parsed), (body, parser)))
    });
    batches.flatten()
}

/// Parser of server-sent events. Buffers the incomplete event.
#[derive(Default)]
struct SseParser {
    limit: usize,
    line: Vec<u8>,
    /// True if the last byte was a carriage return: a following line feed is part of the same line end.
    after_return: bool,
    name: Vec<u8>,
    id: Option<String>,
    retry: Option<u64>,
    /// Data lines, each followed by a line feed.
    data: Vec<u8>,
}

impl SseParser {
    fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(Sse)) -> Result<(), EventError> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() + self.data.len() > self.limit {
                return Err(EventError::TooLong);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            if let Some(event) = self.end_line() {
                each(event);
            }
        }
        Ok(())
    }

    /// Processes a line. Returns the event if the line is empty.
    fn end_line(&mut self) -> Option<Sse> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let (name, mut data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            let (id, retry) = (self.id.take(), self.retry.take());
            // An event without data may still have an id to resume from.
            if data.pop().is_none() && id.is_none() && retry.is_none() {
                return None;
            }
            let event = (!name.is_empty()).then(|| text(&name));
            return Some(Sse { event, data: Some(text(&data)), id, retry });
        }
        let (field, value) = match memchr::memchr(b':', &line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (&line[..], &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => self.name = value.to_vec(),
            b"data" => {
                self.data.extend_from_slice(value);
                self.data.push(b'\n');
            }
            b"id" if !value.contains(&0) => self.id = Some(text(value)),
            b"retry" => self.retry = text(value).parse().ok(),
            // Ignore comments and unknown fields.
            _ => {}
        }
        None
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, EventError> {
        let (mut events, mut found) = (SseParser::new(64), Vec::new());
        for piece in pieces {
            events.take(piece, |event| {
                found.push((event.event.unwrap_or_default(), event.data.unwrap_or_default()))
            })?;
        }
        Ok(found)
    }

    #[test]
    fn events_are_parsed_in_any_pieces() {
        let stream =
            ": hello\n\nevent: endpoint\ndata: /x?é=1\r\n\r\nid: 7\rdata:{\"a\":\rdata\rdata: 1}\r\r\
                      event: lost\n\ndata: end"
                .as_bytes();
        let whole = all(&[stream]).ok().expect("short");
        let expected = [("endpoint", "/x?é=1"), ("", "{\"a\":\n\n1}")];
        assert_eq!(whole, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
        for cut in 0..stream.len() {
            assert_eq!(all(&[&stream[..cut], &stream[cut..]]).ok().as_ref(), Some(&whole), "cut at {cut}");
        }
    }

    #[test]
    fn long_events_are_rejected() {
        assert!(all(&[&[b'x'; 65]]).is_err(), "without an end");
        let line = b"data: 0123456789012345678901234567\n".as_slice();
        assert!(all(&[line, b"\n", line, b"\n", line, b"\n"]).is_ok(), "each is short");
        assert!(all(&[line, line, line]).is_err(), "in many lines");
    }
}
