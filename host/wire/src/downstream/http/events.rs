//! Server-sent events of a response, with a limit per event. All that is no message is counted: comments, blank lines,
//! events with other names, and events that only have an ID.

use std::{collections::VecDeque, time::Duration};

use gatehouse_net::{Response, http_cause};

use super::session_stream::RETRY_RANGE;
use crate::downstream::peer::{MAX_MESSAGE, Peer};

#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::downstream) struct ServerEvent {
    /// Name of the event. `None` for a message.
    pub(in crate::downstream) name: Option<String>,
    /// ID to resume the stream from.
    pub(in crate::downstream) id: Option<String>,
    /// Pause before the stream is opened again.
    pub(in crate::downstream) retry: Option<Duration>,
    /// `None` if there is none, or the event is not a message.
    pub(in crate::downstream) data: Option<Vec<u8>>,
}

pub(in crate::downstream) struct EventReader {
    response: Response,
    parser: EventParser,
    ready: VecDeque<ServerEvent>,
    is_over: bool,
}

impl EventReader {
    pub(in crate::downstream) fn new(response: Response) -> Self {
        Self { response, parser: EventParser::new(MAX_MESSAGE), ready: VecDeque::new(), is_over: false }
    }

    /// Returns the next event, or `None` at the end of the stream.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub(in crate::downstream) async fn next(&mut self, peer: &Peer) -> Result<Option<ServerEvent>, String> {
        let mut event = self.next_event(|lines, bytes| peer.count_unrequested(lines, bytes)).await?;
        if let Some(event) = event.as_mut().filter(|event| event.name.is_some()) {
            event.data = None;
        }
        Ok(event)
    }

    /// Returns the next event. `count` takes the lines and bytes that belong to none.
    pub(in crate::downstream) async fn next_event(
        &mut self,
        count: impl Fn(usize, usize),
    ) -> Result<Option<ServerEvent>, String> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if self.is_over {
                return Ok(None);
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.parser.take(&bytes, &mut self.ready)?,
                Ok(None) => {
                    self.is_over = true;
                    // Some servers leave out the last blank line.
                    self.parser.take(b"\n\n", &mut self.ready)?;
                }
                Err(error) => return Err(http_cause(error)),
            }
            let (lines, bytes) = std::mem::take(&mut self.parser.ignored);
            count(lines, bytes);
        }
    }
}

/// Incremental parser. Buffers the incomplete event.
#[derive(Default)]
struct EventParser {
    limit: usize,
    line: Vec<u8>,
    is_started: bool,
    /// True if the last byte was a carriage return: a following line feed is part of the same line end.
    after_return: bool,
    name: Vec<u8>,
    id: Option<String>,
    retry: Option<Duration>,
    /// Data lines, each followed by a line feed.
    data: Vec<u8>,
    /// Lines that belong to no event, and their bytes.
    ignored: (usize, usize),
}

impl EventParser {
    fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn take(&mut self, mut bytes: &[u8], events: &mut VecDeque<ServerEvent>) -> Result<(), String> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_return) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + piece.len() + self.data.len() > self.limit {
                return Err(format!("it sent an event of more than {} bytes", self.limit));
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(())
    }

    /// Processes a line. Returns the event if the line is empty.
    fn end_line(&mut self) -> Option<ServerEvent> {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.is_started, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.end_event();
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
            b"retry" => {
                let pause = text(value).parse().ok().map(Duration::from_millis);
                self.retry = pause.map(|pause| pause.clamp(*RETRY_RANGE.start(), *RETRY_RANGE.end()));
            }
            _ => self.ignore(line.len()),
        }
        None
    }

    fn end_event(&mut self) -> Option<ServerEvent> {
        let (name, mut data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        let (id, retry) = (self.id.take(), self.retry.take());
        data.pop();
        if data.is_empty() && id.is_none() && retry.is_none() {
            self.ignore(name.len());
            return None;
        }
        let name = (!name.is_empty() && name != b"message").then(|| text(&name));
        let is_message = name.is_none() && !data.is_empty();
        if !is_message {
            self.ignore(data.len());
        }
        // The first event of the oldest transport names an address.
        let keeps_data = is_message || name.as_deref() == Some(ENDPOINT);
        Some(ServerEvent { name, id, retry, data: keeps_data.then_some(data) })
    }

    const fn ignore(&mut self, bytes: usize) {
        self.ignored.0 += 1;
        self.ignored.1 += bytes;
    }
}

/// Name of the event that names the address for messages, in MCP 2024-11-05.
pub(in crate::downstream) const ENDPOINT: &str = "endpoint";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> Result<(Vec<(String, String)>, usize), String> {
        let (mut parser, mut events) = (EventParser::new(64), VecDeque::new());
        for piece in pieces {
            parser.take(piece, &mut events)?;
        }
        let shown = |event: ServerEvent| {
            (event.name.unwrap_or_default(), event.data.map_or("-".into(), |data| text(&data)))
        };
        Ok((events.into_iter().map(shown).collect(), parser.ignored.0))
    }

    #[test]
    fn events_are_parsed_in_any_pieces() {
        let stream =
            "\u{feff}: hello\n\nevent: endpoint\ndata: /x?é=1\r\n\r\nid: 7\rdata:{\"a\":\rdata\rdata: 1}\r\r\
                      event: ping\ndata: {}\n\nevent: lost\n\ndata: end"
                .as_bytes();
        let whole = all(&[stream]).expect("short");
        let expected = [("endpoint", "/x?é=1"), ("", "{\"a\":\n\n1}")];
        assert_eq!(whole.0[..2], expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
        assert_eq!(whole.1, 5, "a comment, two empty events and a ping");
        for cut in 0..stream.len() {
            assert_eq!(all(&[&stream[..cut], &stream[cut..]]).as_ref(), Ok(&whole), "cut at {cut}");
        }
    }

    #[test]
    fn pauses_are_bounded() {
        for (given, expected) in [("0", Some(1)), ("7000", Some(7)), ("99999999", Some(300)), ("soon", None)]
        {
            let (mut parser, mut events) = (EventParser::new(64), VecDeque::new());
            let stream = format!("retry: {given}\nid: 1\n\n");
            parser.take(stream.as_bytes(), &mut events).expect("short");
            assert_eq!(events[0].retry, expected.map(Duration::from_secs), "{given}");
            assert_eq!((events[0].id.as_deref(), &events[0].data), (Some("1"), &None));
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
