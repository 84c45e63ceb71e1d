//! The output of a server's process, line by line, with what [`repaired`] changes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncBufRead, AsyncRead, BufReader, ReadBuf};

use super::server_text::repaired;

/// Maximum bytes of a line, as for the host's own clients.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Bytes of memory that stay reserved for the next line.
const KEPT: usize = 64 << 10;

/// A reader of whole lines. A line over the limit ends it: the library would drop the line, and its request would wait
/// without end.
pub(super) struct ServerLines<R> {
    inner: BufReader<R>,
    /// The line that is being read.
    line: Vec<u8>,
    /// Lines that are being given out, and how much of them was.
    ready: Vec<u8>,
    given: usize,
}

impl<R: AsyncRead> ServerLines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner: BufReader::new(inner), line: Vec::new(), ready: Vec::new(), given: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ServerLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { inner, line, ready, given } = self.get_mut();
        loop {
            let rest = &ready[*given..];
            if !rest.is_empty() {
                let count = rest.len().min(buffer.remaining());
                buffer.put_slice(&rest[..count]);
                *given += count;
                return Poll::Ready(Ok(()));
            }
            ready.clear();
            ready.shrink_to(KEPT);
            *given = 0;
            let available = ready!(Pin::new(&mut *inner).poll_fill_buf(context))?;
            let end = memchr::memchr(b'\n', available);
            let count = end.map_or(available.len(), |at| at + 1);
            line.extend_from_slice(&available[..count]);
            Pin::new(&mut *inner).consume(count);
            if line.len() > MAX_LINE {
                return Poll::Ready(Err(io::Error::other(format!("a line of more than {MAX_LINE} bytes"))));
            }
            if end.is_some() {
                if let Some(changed) = repaired(line) {
                    *line = changed;
                }
                std::mem::swap(line, ready);
            } else if count == 0 {
                // The output ended; what is left of it is given as it is.
                if line.is_empty() {
                    return Poll::Ready(Ok(()));
                }
                std::mem::swap(line, ready);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn lines_come_through_in_any_pieces() {
        let long = "x".repeat(100_000);
        let input = format!("{{\"a\":\"\\ud83d\"}}\n\n{long}\nthe rest");
        let mut output = String::new();
        ServerLines::new(input.as_bytes()).read_to_string(&mut output).await.expect("read");
        assert_eq!(output, input.replace("\\ud83d", "\\uFFFD"));
    }

    #[tokio::test]
    async fn a_line_without_end_is_an_error() {
        let mut output = Vec::new();
        let endless = tokio::io::repeat(b'x');
        let error = ServerLines::new(endless).read_to_end(&mut output).await.expect_err("too long");
        assert!(error.to_string().starts_with("a line of more than"), "{error}");
        assert!(output.is_empty());
    }
}
