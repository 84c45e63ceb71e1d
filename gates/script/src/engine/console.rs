//! Captures the console output of a script, up to a limit.

use std::cell::RefCell;

const MAX_LINES: usize = 200;

const MAX_BYTES: usize = 32 << 10;
const MAX_LINE_BYTES: usize = 4 << 10;

#[derive(Default)]
struct CapturedOutput {
    lines: Vec<String>,
    bytes: usize,
    left_out: usize,
}

#[derive(Default)]
pub(crate) struct Console(RefCell<CapturedOutput>);

impl Console {
    /// Stores a line, shortened if it is too long. Only counts it if the console is full.
    pub(crate) fn print(&self, line: &str) {
        let mut kept = self.0.borrow_mut();
        if kept.lines.len() >= MAX_LINES || kept.bytes >= MAX_BYTES {
            kept.left_out += 1;
            return;
        }
        let end = line.floor_char_boundary(MAX_LINE_BYTES.min(MAX_BYTES - kept.bytes));
        let line = match &line[..end] {
            whole if end == line.len() => whole.to_owned(),
            part => format!("{part}… ({} bytes more)", line.len() - end),
        };
        kept.bytes += line.len();
        kept.lines.push(line);
    }

    pub(crate) fn take(&self) -> Vec<String> {
        let kept = self.0.take();
        let mut lines = kept.lines;
        if kept.left_out > 0 {
            lines.push(format!("… ({} lines more)", kept.left_out));
        }
        lines
    }
}
