//! Texts in blocks that are compressed and verified separately, so that reading a page of a long text is cheap.

use gatehouse_core::{outcome::Fault, ports::artifacts::ArtifactSlice};
use memchr::memchr_iter;
use sha2::{Digest as _, Sha256};

use super::{
    RowReader,
    engine::{ArtifactSpan, BlockStart, PackedText},
    stored_reply::{digest_with_data, value_at},
};

/// Bytes in a block, before compression. A block that would split a character is up to 3 bytes longer.
const BLOCK_BYTES: usize = 1 << 20;

/// Default level of zstd. Higher levels take several times as long and save a few percent.
const ZSTD_LEVEL: i32 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TextBlock {
    pub(crate) start: BlockStart,
    pub(crate) size: i64,
    pub(crate) digest: Vec<u8>,
    pub(crate) packed: Vec<u8>,
}

impl PackedText {
    pub(super) fn pack(text: &str) -> Result<Self, Fault> {
        let mut whole = Sha256::new();
        let mut packer = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(|error| zstd_fault(&error))?;
        let mut start = BlockStart { characters: 0, line_feeds: 0 };
        let mut blocks = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (block, after) = rest.split_at(rest.ceil_char_boundary(BLOCK_BYTES));
            rest = after;
            whole.update(block);
            let packed = packer.compress(block.as_bytes()).map_err(|error| zstd_fault(&error))?;
            let digest = Sha256::digest(block).to_vec();
            blocks.push(TextBlock { start, size: block.len() as i64, digest, packed });
            start.characters += block.chars().count() as i64;
            start.line_feeds += memchr_iter(b'\n', block.as_bytes()).count() as i64;
        }
        let open = !text.is_empty() && !text.ends_with('\n');
        Ok(Self {
            digest: whole.finalize().to_vec(),
            size: text.len() as i64,
            lines: start.line_feeds + i64::from(open),
            characters: start.characters,
            blocks,
        })
    }

    pub(crate) fn packed_size(&self) -> i64 {
        self.blocks.iter().map(|block| block.packed.len() as i64).sum()
    }
}

fn zstd_fault(error: &std::io::Error) -> Fault {
    Fault::internal(format!("cannot compress a text: {error}"))
}

impl TextBlock {
    fn text(&self) -> Result<String, Fault> {
        let mut bytes = vec![0; self.length()?];
        self.unpack(&mut bytes)?;
        if Sha256::digest(&bytes)[..] != self.digest[..] {
            return Err(damaged_text());
        }
        String::from_utf8(bytes).map_err(|_| damaged_text())
    }

    /// Returns the uncompressed bytes. Rejects a damaged number before it becomes an allocation.
    fn length(&self) -> Result<usize, Fault> {
        usize::try_from(self.size).ok().filter(|size| *size <= BLOCK_BYTES + 3).ok_or_else(damaged_text)
    }

    fn unpack(&self, into: &mut [u8]) -> Result<(), Fault> {
        match zstd::bulk::decompress_to_buffer(&self.packed, into) {
            Ok(written) if written == into.len() => Ok(()),
            Ok(_) | Err(_) => Err(damaged_text()),
        }
    }
}

impl PackedText {
    /// Returns the part in a span, whose blocks must be present, or the value at a JSON pointer into the whole text.
    pub(super) fn slice(
        &self,
        span: ArtifactSpan,
        pointer: Option<String>,
        row_reader: RowReader,
    ) -> Result<ArtifactSlice, Fault> {
        let (from, to, total) = match span {
            ArtifactSpan::Characters(from, to) => (from, to, self.characters),
            ArtifactSpan::Lines(from, to) => (from, to, self.lines),
            ArtifactSpan::Whole => {
                let (text, data) = self.text_and_data()?;
                let text = match pointer {
                    None => text,
                    Some(pointer) => value_at(&text, data.as_deref(), &pointer, row_reader)?,
                };
                let total = text.chars().count() as u64;
                return Ok(ArtifactSlice { text, total, next: None });
            }
        };
        let (from, to) = (from.min(total), to.min(total));
        let text = match span {
            _ if from == to => String::new(),
            ArtifactSpan::Lines(..) => self.lines(from, to)?,
            _ => self.characters(from, to)?,
        };
        let positive = |value: i64| u64::try_from(value).unwrap_or(0);
        Ok(ArtifactSlice { text, total: positive(total), next: (to < total).then(|| positive(to)) })
    }

    /// Decompresses and verifies the whole text. All blocks must be present.
    pub(super) fn full_text(&self) -> Result<String, Fault> {
        let lengths = self.blocks.iter().map(TextBlock::length).collect::<Result<Vec<_>, _>>()?;
        let size = lengths.iter().sum::<usize>();
        if i64::try_from(size) != Ok(self.size) {
            return Err(damaged_text());
        }
        // Decompress each block in place, without a second copy.
        let mut bytes = vec![0; size];
        let mut rest = &mut bytes[..];
        for (block, length) in self.blocks.iter().zip(lengths) {
            let (place, after) = rest.split_at_mut(length);
            block.unpack(place)?;
            rest = after;
        }
        let digest = Sha256::digest(&bytes);
        if digest[..] != self.digest[..] && digest_with_data(&digest, self.characters) != self.digest {
            return Err(damaged_text());
        }
        String::from_utf8(bytes).map_err(|_| damaged_text())
    }

    /// Returns the characters `from..to` from the blocks that contain them.
    fn characters(&self, from: i64, to: i64) -> Result<String, Fault> {
        let mut piece = String::new();
        for block in &self.blocks {
            let text = block.text()?;
            let at = |place: i64| character(&text, place - block.start.characters);
            piece.push_str(&text[at(from)..at(to)]);
        }
        Ok(piece)
    }

    /// Returns the lines `from..to` from the blocks that contain them, without the final line end.
    fn lines(&self, from: i64, to: i64) -> Result<String, Fault> {
        let mut piece = String::new();
        for block in &self.blocks {
            let text = block.text()?;
            let begin = match from - block.start.line_feeds {
                ..=0 => 0,
                feeds => feed(&text, feeds).map_or(text.len(), |at| at + 1),
            };
            let Some(end) = feed(&text, to - block.start.line_feeds) else {
                piece.push_str(&text[begin..]);
                continue;
            };
            piece.push_str(&text[begin..end]);
            if piece.ends_with('\r') {
                piece.pop();
            }
            break;
        }
        Ok(piece)
    }
}

/// Returns the byte offset of a character, limited to the text.
pub(super) fn character(text: &str, number: i64) -> usize {
    match usize::try_from(number) {
        Err(_) => 0,
        Ok(number) if number >= text.len() => text.len(),
        Ok(number) => text.char_indices().nth(number).map_or(text.len(), |(at, _)| at),
    }
}

/// Returns the byte offset of a line feed, counted from 1.
fn feed(text: &str, number: i64) -> Option<usize> {
    let before = usize::try_from(number).ok()?.checked_sub(1)?;
    memchr_iter(b'\n', text.as_bytes()).nth(before)
}

fn damaged_text() -> Fault {
    let fault = Fault::unavailable("stored artifact is corrupt: its content does not match its digest");
    Fault { retryable: false, ..fault.hint("Delete it and call the tool that produced it again.") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(text: &str, span: ArtifactSpan) -> PackedText {
        let PackedText { digest, size, lines, characters, blocks } =
            PackedText::from_text(text, None).expect("packed");
        let starts: Vec<BlockStart> = blocks.iter().map(|block| block.start).collect();
        let blocks = blocks[span.blocks(&starts)].to_vec();
        PackedText { digest, size, lines, characters, blocks }
    }

    /// Returns over two blocks, with varied characters and line ends at their boundaries.
    fn long(turn: usize) -> String {
        let unit = "zeile ä🙂\r\n\nx\r";
        let mut text = "a".repeat(turn);
        while text.len() < 2 * BLOCK_BYTES + 5_000 {
            text.push_str(unit);
        }
        text
    }

    #[test]
    fn every_slice_equals_that_part_of_the_text() {
        for turn in 0..5 {
            let text = long(turn);
            let lines: Vec<&str> = text.lines().collect();
            let whole = stored(&text, ArtifactSpan::Whole);
            assert_eq!((whole.lines, whole.characters), (lines.len() as i64, text.chars().count() as i64));
            assert!(whole.full_text().expect("whole") == text);
            let cut = PackedText::from_text(&text, None).expect("packed").blocks[1].start;
            for from in [
                0,
                1,
                cut.line_feeds - 2,
                cut.line_feeds - 1,
                cut.line_feeds,
                cut.line_feeds + 1,
                whole.lines - 1,
            ] {
                for count in [1, 2, 5] {
                    let to = (from + count).min(whole.lines);
                    let piece = stored(&text, ArtifactSpan::Lines(from, to)).lines(from, to).expect("lines");
                    let bare = |line: &str| line.trim_end_matches('\r').to_owned();
                    let found: Vec<String> = piece.split('\n').map(bare).collect();
                    let expected: Vec<String> =
                        lines[from as usize..to as usize].iter().map(|line| bare(line)).collect();
                    assert_eq!(found, expected, "lines {from} to {to}, turn {turn}");
                }
            }
            for from in [0, 7, cut.characters - 2, cut.characters, whole.characters - 3] {
                let to = from + 4;
                let expected: String = text.chars().skip(from as usize).take(4).collect();
                assert_eq!(
                    stored(&text, ArtifactSpan::Characters(from, to)).characters(from, to),
                    Ok(expected)
                );
            }
        }
    }

    #[test]
    fn lines_are_counted_as_people_do() {
        for (text, lines) in
            [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\nb", 2), ("a\n\n", 2), ("\r\n\r\n", 2)]
        {
            assert_eq!(PackedText::from_text(text, None).expect("packed").lines, lines, "{text:?}");
        }
    }

    #[test]
    fn damage_is_found_in_whole_texts_and_in_pieces() {
        let text = long(0);
        let mut stored = stored(&text, ArtifactSpan::Whole);
        let other = PackedText::from_text(&text.replace('x', "y"), None).expect("packed").blocks;
        stored.blocks[1].packed = other[1].packed.clone();
        assert!(
            stored.full_text().is_err()
                && stored.characters(BLOCK_BYTES as i64, BLOCK_BYTES as i64 + 1).is_err()
        );
        stored.blocks[1].packed.truncate(50);
        assert!(stored.full_text().is_err() && stored.lines(0, stored.lines).is_err());
        stored.blocks[1].size = i64::MAX;
        assert!(stored.full_text().is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pages_of_any_text_put_together_are_the_text(text in "(\\PC|\r|\n){0,60}", page in 1_i64..7) {
            let whole = stored(&text, ArtifactSpan::Whole);
            let mut together = String::new();
            let mut from = 0;
            while from < whole.characters {
                together.push_str(&whole.characters(from, from + page).unwrap());
                from += page;
            }
            prop_assert_eq!(&together, &text);
            let lines: Vec<String> =
                (0..whole.lines).map(|line| whole.lines(line, line + 1).unwrap()).collect();
            prop_assert_eq!(lines, text.lines().collect::<Vec<_>>());
        }
    }
}
