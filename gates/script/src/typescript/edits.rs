//! Edits of a text by byte offset: blanks and insertions.

#[derive(Default)]
pub(super) struct TextEdits {
    /// Ranges to blank; line ends in them stay.
    blanks: Vec<(u32, u32)>,
    /// Single bytes to replace after blanking.
    marks: Vec<(u32, u8)>,
    /// Text to insert before a byte, in insertion order.
    inserted: Vec<(u32, String)>,
}

impl TextEdits {
    pub(super) fn blank(&mut self, start: u32, end: u32) {
        if start < end {
            self.blanks.push((start, end));
        }
    }

    pub(super) fn mark(&mut self, at: u32, byte: u8) {
        self.marks.push((at, byte));
    }

    pub(super) fn insert(&mut self, at: u32, text: impl Into<String>) {
        self.inserted.push((at, text.into()));
    }

    pub(super) fn apply(mut self, source: &str) -> String {
        let mut bytes = source.as_bytes().to_vec();
        for (start, end) in self.blanks {
            for byte in &mut bytes[start as usize..end as usize] {
                if !matches!(byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        for (at, byte) in self.marks {
            bytes[at as usize] = byte;
        }
        self.inserted.sort_by_key(|(at, _)| *at);
        let mut out = Vec::with_capacity(bytes.len() + 64);
        let mut done = 0;
        for (at, text) in self.inserted {
            out.extend_from_slice(&bytes[done..at as usize]);
            out.extend_from_slice(text.as_bytes());
            done = at as usize;
        }
        out.extend_from_slice(&bytes[done..]);
        // Only whole nodes are blanked, so the text is still UTF-8.
        String::from_utf8_lossy(&out).into_owned()
    }
}
