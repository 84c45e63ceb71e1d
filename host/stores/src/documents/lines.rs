//! Lines of a document. A line includes its line feed.

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{Document, LineRange},
};
use gatehouse_decode::{closes_fence, fence};

use super::engine::StoredFile;

/// Returns the requested lines, or the whole file. Ignores lines past the end.
pub(super) fn document(
    repository: String,
    file: StoredFile,
    asked: Option<LineRange>,
) -> Result<Document, Fault> {
    let StoredFile { path, text, made_from, tokens, .. } = file;
    let total = count(&text);
    let first = asked.filter(|_| made_from.is_some()).map_or(1, |lines| lines.first);
    let part = part_of(&text, first).map(str::to_owned);
    let (lines, text) = match asked {
        None => (LineRange { first: total.min(1), last: total }, text),
        Some(LineRange { first, last }) if first == 0 || last < first => {
            let message = format!(
                "invalid line range {first}-{last}: lines start at 1, and the last must not be before the first"
            );
            return Err(Fault::invalid(message));
        }
        Some(LineRange { first, .. }) if first > total => {
            let number = if total == 1 { "1 line".to_owned() } else { format!("{total} lines") };
            let message = format!("'{path}' has {number}; line {first} is past the end");
            return Err(Fault::invalid(message).hint("Request lines that exist, or the whole document."));
        }
        Some(LineRange { first, last }) => {
            let lines = LineRange { first, last: last.min(total) };
            (lines, cut(&text, lines).to_owned())
        }
    };
    Ok(Document { repository, path, text, lines, total_lines: total, total_tokens: tokens, made_from, part })
}

/// Returns the heading of level 2 above a line of converted text. `None` if the line is a heading of this level.
fn part_of(text: &str, first: u32) -> Option<&str> {
    let (mut part, mut open_fence) = (None, None);
    for (number, line) in (1..=first).zip(text.lines()) {
        match open_fence {
            Some(marker) if closes_fence(line, marker) => open_fence = None,
            Some(_) => {}
            None => open_fence = fence(line),
        }
        if let Some(title) = line.strip_prefix("## ").filter(|_| open_fence.is_none()) {
            part = (number < first).then(|| title.trim());
        }
    }
    part
}

/// Counts lines: an empty text has 0 lines, and text after the last line feed is a line.
fn count(text: &str) -> u32 {
    u32::try_from(text.split_inclusive('\n').count()).unwrap_or(u32::MAX)
}

/// Returns the lines of a range that starts inside the text.
pub(super) fn cut(text: &str, LineRange { first, last }: LineRange) -> &str {
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let skipped = first as usize - 1;
    let start = if skipped == 0 { 0 } else { ends.nth(skipped - 1).unwrap_or(text.len()) };
    let end = ends.nth((last - first) as usize).unwrap_or(text.len());
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_of_converted_text_name_their_part() {
        let text = "# Book\n## Page 1\none\n```\n## no page\n```\ntwo\n## Page 2: Herbs\nthree\n";
        let parts: Vec<_> = (1..=9).map(|first| part_of(text, first)).collect();
        let (one, two) = (Some("Page 1"), Some("Page 2: Herbs"));
        assert_eq!(parts, [None, None, one, one, one, one, one, None, two]);
    }

    fn file(text: &str) -> StoredFile {
        StoredFile { path: "a.md".into(), text: text.into(), made_from: None, tokens: 7 }
    }

    fn read(text: &str, first: u32, last: u32) -> Result<(String, u32, u32), String> {
        let read = document("r".into(), file(text), Some(LineRange { first, last }))
            .map_err(|fault| fault.message)?;
        Ok((read.text, read.lines.first, read.lines.last))
    }

    #[test]
    fn lines_keep_their_ends_and_those_beyond_the_end_are_left_out() {
        let text = "one\r\ntwo\n\nfour";
        for (first, last, expected, end) in
            [(1, 1, "one\r\n", 1), (2, 3, "two\n\n", 3), (3, 99, "\nfour", 4), (1, u32::MAX, text, 4)]
        {
            assert_eq!(read(text, first, last), Ok((expected.to_owned(), first, end)));
        }
        let whole = document("r".into(), file(text), None).unwrap();
        assert_eq!(
            (whole.text.as_str(), whole.lines, whole.total_lines),
            (text, LineRange { first: 1, last: 4 }, 4)
        );
    }

    #[test]
    fn a_document_without_text_has_no_lines() {
        let whole = document("r".into(), file(""), None).unwrap();
        assert_eq!((whole.lines, whole.total_lines), (LineRange { first: 0, last: 0 }, 0));
    }

    #[test]
    fn an_invalid_range_is_refused_with_the_number_of_lines() {
        assert_eq!(read("a\nb\n", 3, 4), Err("'a.md' has 2 lines; line 3 is past the end".into()));
        assert_eq!(read("a", 2, 2), Err("'a.md' has 1 line; line 2 is past the end".into()));
        assert!(read("a", 0, 1).is_err() && read("a\nb", 2, 1).is_err() && read("", 1, 1).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn pieces_make_up_the_whole(text in "[a-zé\r\n]{1,40}", at in 1_u32..10) {
            let total = count(&text);
            let at = at.min(total);
            let mut joined = read(&text, 1, at).unwrap().0;
            if at < total {
                joined.push_str(&read(&text, at + 1, total).unwrap().0);
            }
            prop_assert_eq!(joined, text);
        }
    }
}
