//! Writer of newline-delimited messages to a pipe.

use std::{io, sync::Mutex};

use gatehouse_core::lock;
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// Queued lines of a pipe. The task that holds the pipe writes all of them, including those of other tasks. The next
/// write resumes an interrupted one.
pub(crate) struct LineWriter<W> {
    queued: Mutex<Vec<u8>>,
    stream: tokio::sync::Mutex<OutputStream<W>>,
}

struct OutputStream<W> {
    /// `None` after the close.
    pipe: Option<W>,
    /// Bytes taken from the queue; the first `written` of them are written.
    rest: Vec<u8>,
    written: usize,
}

impl<W: AsyncWrite + Unpin> LineWriter<W> {
    pub(crate) fn new(pipe: W) -> Self {
        let stream = OutputStream { pipe: Some(pipe), rest: Vec::new(), written: 0 };
        Self { queued: Mutex::default(), stream: tokio::sync::Mutex::new(stream) }
    }

    /// Adds a message to the queue.
    pub(crate) fn queue(&self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut queued = lock(&self.queued);
        if queued.is_empty() {
            *queued = line
        } else {
            queued.extend_from_slice(&line)
        }
        Ok(())
    }

    pub(crate) fn queued_bytes(&self) -> usize {
        lock(&self.queued).len()
    }

    /// Writes all queued messages.
    pub(crate) async fn write(&self) -> io::Result<()> {
        let mut stream = self.stream.lock().await;
        loop {
            let OutputStream { pipe, rest, written } = &mut *stream;
            let pipe = pipe.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
            while *written < rest.len() {
                match pipe.write(&rest[*written..]).await? {
                    0 => return Err(io::ErrorKind::WriteZero.into()),
                    count => *written += count,
                }
            }
            *written = 0;
            *rest = std::mem::take(&mut *lock(&self.queued));
            if rest.is_empty() {
                return pipe.flush().await;
            }
        }
    }

    /// Closes the pipe.
    pub(crate) async fn close(&self) {
        drop(self.stream.lock().await.pipe.take());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn an_interrupted_write_is_resumed_and_nothing_is_written_after_the_close() {
        let (ours, mut theirs) = duplex(4);
        let writer = LineWriter::new(ours);
        writer.queue(&"first").expect("queued");
        assert!(writer.write().now_or_never().is_none(), "the pipe is full");
        writer.queue(&"second").expect("queued");
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            theirs.read_to_string(&mut text).await.map(|_| text)
        });
        writer.write().await.expect("written");
        assert_eq!(writer.queued_bytes(), 0);
        writer.close().await;
        assert_eq!(reading.await.expect("read").expect("text"), "\"first\"\n\"second\"\n");
        writer.queue(&"third").expect("queued");
        assert_eq!(writer.write().await.expect_err("closed").kind(), io::ErrorKind::BrokenPipe);
    }
}
