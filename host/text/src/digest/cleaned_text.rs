//! Text without what hides its lines: lines that a program overwrote with carriage returns, and data in the middle of a text.

use std::borrow::Cow;

/// Returns the text with the last state of each overwritten line, as a terminal shows it. In a text without line feeds,
/// carriage returns end lines.
pub(super) fn with_last_states(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') || text.trim_start().starts_with(['{', '[']) || !text.lines().any(is_overwritten)
    {
        return Cow::Borrowed(text);
    }
    let last = |line: &str| match is_overwritten(line) {
        true => states(line).next_back().unwrap_or_default().to_owned(),
        false => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(last).collect();
    lines.join("\n").into()
}

fn states(line: &str) -> impl DoubleEndedIterator<Item = &str> {
    line.split('\r').filter(|state| !state.trim().is_empty())
}

/// Whether a line shows progress: its first two states differ only in numbers and marks. The rows of a table differ in
/// words, or have separators.
fn is_overwritten(line: &str) -> bool {
    let mut states = states(line);
    let Some(first) = states.next() else { return false };
    let Some(second) = states.next() else { return line.trim_end_matches('\r').contains('\r') };
    let letters = |state: &str| state.chars().filter(|c| c.is_alphabetic()).collect::<String>();
    !first.contains([',', ';', '\t', '|']) && letters(first) == letters(second)
}

/// Minimum bytes of data such as a picture in base64. Longer words have a meaning only for programs.
const MIN_DATA_BYTES: usize = 2_000;

/// Characters that stay of such data.
const SHOWN_CHARS: usize = 40;

/// Returns the text with long runs of base64 or hexadecimal digits cut, so that they hide no lines.
pub(super) fn without_data(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_data = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    let (mut out, mut copied, mut at) = (String::new(), 0, 0);
    while at < text.len() {
        let run = text[at..].bytes().take_while(|byte| is_data(&char::from(*byte))).count();
        if run > MIN_DATA_BYTES {
            out.push_str(&text[copied..at + SHOWN_CHARS]);
            out.push_str(&format!("… ({run} characters)"));
            copied = at + run;
        }
        at += run;
        at += text[at..].chars().next().map_or(1, char::len_utf8);
    }
    if copied == 0 || text.trim_start().starts_with(['{', '[']) {
        return text;
    }
    (out + &text[copied..]).into()
}

/// Returns the text without the bytes of inline pictures (`data:…;base64,…`), which say nothing to a reader.
pub(crate) fn without_pictures(text: &str) -> Cow<'_, str> {
    const MARK: &str = ";base64,";
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut is_cut = false;
    for part in parts {
        let is_data = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
        let run = part.bytes().take_while(|byte| is_data(byte)).count();
        out.push_str(MARK);
        if run > MIN_DATA_BYTES {
            is_cut = true;
            out.push_str(&format!("… ({run} characters){}", &part[run..]));
        } else {
            out.push_str(part);
        }
    }
    if is_cut { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_the_middle_of_a_text_is_cut() {
        let data = "QUJD".repeat(1_000);
        let text = format!("Taken.\n{data}\n1,{data},ant\nSaved as a.png\n");
        let shown = format!("{}… (4000 characters)", "QUJD".repeat(10));
        let cut = without_data(Cow::Borrowed(&text));
        assert_eq!(cut, format!("Taken.\n{shown}\n1,{shown},ant\nSaved as a.png\n"));
        for text in [format!("[\"{data}\"]"), "東京都".repeat(3_000), "(1,2),".repeat(3_000)] {
            assert_eq!(without_data(Cow::Borrowed(&text)), text);
        }
    }

    #[test]
    fn only_pictures_are_cut_out_of_text() {
        let data = "QUJD".repeat(1_000);
        let text = format!("![x](data:image/png;base64,{data}) and {data}\n");
        assert_eq!(
            without_pictures(&text),
            format!("![x](data:image/png;base64,… (4000 characters)) and {data}\n")
        );
        let short = "a ;base64,QUJD ;base64,";
        assert_eq!(without_pictures(short), short);
    }

    #[test]
    fn the_last_state_of_a_line_remains_and_other_lines_stay() {
        let text = "begin\r\n10 %\r20 %\r100 %\rERROR: no\nnext\r\n\r50 %\r   \nend";
        assert_eq!(with_last_states(text), "begin\r\nERROR: no\nnext\r\n50 %\nend");
        for text in ["a\r\nb\r\n", "a\nb", "[1,\r2]", "a,b\r1,2\r3,4\n", "one\rtwo\rthree"] {
            assert!(matches!(with_last_states(text), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
