//! Captures the end of a guest's output, and extracts from it the cause and the innermost frames of a failure, for the
//! log and the message of a trap.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use gatehouse_core::{lock, names::quoted};
use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

/// The last `limit` bytes of output.
#[derive(Clone)]
pub(crate) struct OutputCapture {
    kept: Arc<Mutex<VecDeque<u8>>>,
    limit: usize,
}

impl OutputCapture {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: Arc::default(), limit }
    }

    pub(crate) fn text(&self) -> String {
        let mut buffer = lock(&self.kept);
        String::from_utf8_lossy(buffer.make_contiguous()).into_owned()
    }

    pub(crate) fn clear(&self) {
        lock(&self.kept).clear();
    }

    fn keep(&self, bytes: &[u8]) {
        let mut buffer = lock(&self.kept);
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let excess = (buffer.len() + bytes.len()).saturating_sub(self.limit);
        buffer.drain(..excess);
        buffer.extend(bytes);
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for OutputCapture {
    async fn ready(&mut self) {}
}

impl OutputStream for OutputCapture {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for OutputCapture {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for OutputCapture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for OutputCapture {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

/// Maximum characters of a cause, and of one frame.
const MAX_CAUSE: usize = 300;
const MAX_FRAME: usize = 120;

const MAX_FRAMES: usize = 3;

const MAX_LINES: usize = 5;

/// Returns `cause, at frame, frame`, or the last lines of the output if it names no cause.
pub(crate) fn last_words(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let backtrace = exception(&lines)
        .or_else(|| panicked(&lines))
        .or_else(|| traceback(&lines))
        .or_else(|| stack(&lines));
    let Some((cause, frames)) = backtrace else {
        let last = &lines[lines.len().saturating_sub(MAX_LINES)..];
        // Shorten each line, so that a long one does not hide those after it.
        return last.iter().map(|line| quoted(line, 160)).collect::<Vec<_>>().join(" | ");
    };
    let cause = quoted(cause.trim().trim_end_matches('.'), MAX_CAUSE);
    let frames: Vec<String> = frames.iter().take(MAX_FRAMES).map(|frame| quoted(frame, MAX_FRAME)).collect();
    if frames.is_empty() { cause } else { format!("{cause}, at {}", frames.join(", ")) }
}

type GuestBacktrace = (String, Vec<String>);

/// Parses JavaScript on QuickJS: a panic that contains `Exception { message: Some("…"), stack: Some("…") }`.
fn exception(lines: &[&str]) -> Option<GuestBacktrace> {
    let text = lines.join("\n");
    let (_, exception) = text.rsplit_once("Exception { message: Some(\"")?;
    let message = unescaped(exception);
    let stack = exception.split_once("stack: Some(\"").map(|(_, stack)| unescaped(stack)).unwrap_or_default();
    let frames = stack.lines().filter_map(|line| Some(line.trim().strip_prefix("at ")?.to_owned())).collect();
    Some((message, frames))
}

/// Unescapes Rust debug output up to the closing quotation mark.
fn unescaped(text: &str) -> String {
    let mut letters = text.chars();
    let mut plain = String::new();
    while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
        match letter {
            '\\' => plain.extend(letters.next().map(|escaped| if escaped == 'n' { '\n' } else { escaped })),
            letter => plain.push(letter),
        }
    }
    plain
}

/// Parses Rust: `thread 'x' panicked at FILE:LINE:COLUMN:`, then the message, then a note.
fn panicked(lines: &[&str]) -> Option<GuestBacktrace> {
    let at = lines.iter().rposition(|line| line.contains(" panicked at "))?;
    let place = lines[at].split(" panicked at ").nth(1)?.trim_end_matches(':');
    let more = |line: &&&str| line.starts_with("note: ") || line.starts_with("stack backtrace:");
    let message: Vec<&str> = lines[at + 1..].iter().take_while(|line| !more(line)).copied().collect();
    if message.is_empty() {
        return None;
    }
    Some((message.join(" "), vec![place.to_owned()]))
}

/// Parses Python: `Traceback`, two lines per frame with the innermost last, then the exception.
fn traceback(lines: &[&str]) -> Option<GuestBacktrace> {
    let at = lines.iter().rposition(|line| line.starts_with("Traceback (most recent call last)"))?;
    let after = &lines[at + 1..];
    let cause = after.iter().find(|line| !line.starts_with(char::is_whitespace))?;
    let frame = |line: &&str| {
        let (file, rest) = line.trim().strip_prefix("File \"")?.split_once("\", line ")?;
        Some(match rest.split_once(", in ") {
            Some((line, function)) => format!("{file}:{line} in {function}"),
            None => format!("{file}:{rest}"),
        })
    };
    Some(((*cause).to_owned(), after.iter().rev().filter_map(frame).collect()))
}

/// Parses JavaScript and similar: the error, then a line starting with `at` per frame, innermost first.
fn stack(lines: &[&str]) -> Option<GuestBacktrace> {
    let frame = |line: &&str| line.trim_start().strip_prefix("at ").map(str::to_owned);
    let last = lines.iter().rposition(|line| frame(line).is_some())?;
    let first = lines[..last].iter().rposition(|line| frame(line).is_none())?;
    Some((lines[first].to_owned(), lines[first + 1..=last].iter().filter_map(frame).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept() {
        let capture = OutputCapture::new(8);
        capture.keep(b"hello ");
        capture.keep(b"world");
        assert_eq!(capture.text(), "lo world");
        capture.keep(&[b'x'; 100]);
        assert_eq!(capture.text(), "xxxxxxxx");
    }

    #[test]
    fn the_cause_comes_first_whatever_the_language() {
        for (output, words) in [
            (
                "starting\nthread '<unnamed>' (1) panicked at src/lib.rs:23:40:\non purpose\nnote: run with `RUST_BACKTRACE=1`\n",
                "on purpose, at src/lib.rs:23:40",
            ),
            (
                "Traceback (most recent call last):\n  File \"/app.py\", line 9, in call\n    return look(x)\n  File \"/app.py\", line 3, in look\n    return {}[x]\nKeyError: 'x'\n",
                "KeyError: 'x', at /app.py:3 in look, /app.py:9 in call",
            ),
            (
                "TypeError: x is not a function\n    at look (gate.js:3:5)\n    at call (gate.js:9:1)\n",
                "TypeError: x is not a function, at look (gate.js:3:5), call (gate.js:9:1)",
            ),
            (
                "thread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'call': Value(Exception(\nException { message: Some(\"no \\\"y\\\" of undefined\"), stack: Some(\"    at look (/gate.js:39:51)\\n    at call (/gate.js:9:1)\\n\") }\n)\n)\n",
                "no \"y\" of undefined, at look (/gate.js:39:51), call (/gate.js:9:1)",
            ),
            ("one\n\ntwo\n", "one | two"),
            ("", ""),
        ] {
            assert_eq!(last_words(output), words, "{output}");
        }
    }

    #[test]
    fn a_flood_of_frames_stays_short() {
        let frames: String = (0..10_000).map(|line| format!("    at f{line} (gate.js:{line})\n")).collect();
        let words = last_words(&format!("Error: {}\n{frames}", "x".repeat(1 << 16)));
        assert!(words.chars().count() < 500 && words.ends_with("f2 (gate.js:2)"), "{words}");
        assert!(last_words(&"y".repeat(1 << 16)).len() < 200);
    }
}
