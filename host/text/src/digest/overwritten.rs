//! Lines that a program overwrote with carriage returns, such as progress bars.

use std::borrow::Cow;

/// Returns the text with the last state of each line, as a terminal shows it. In a text without line feeds, carriage
/// returns end lines.
pub(super) fn with_last_states(text: &str) -> Cow<'_, str> {
    let overwrites = |line: &str| line.trim_end_matches('\r').contains('\r');
    if !text.contains('\r') || text.trim_start().starts_with(['{', '[']) || !text.lines().any(overwrites) {
        return Cow::Borrowed(text);
    }
    if !text.contains('\n') {
        return text.replace('\r', "\n").into();
    }
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').find(|state| !state.trim().is_empty()).unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(last).collect();
    lines.join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_state_of_a_line_remains_and_other_lines_stay() {
        let text = "begin\r\n10 %\r20 %\r100 %\rERROR: no\nnext\r\n\r50 %\r   \nend";
        assert_eq!(with_last_states(text), "begin\nERROR: no\nnext\n50 %\nend");
        assert_eq!(with_last_states("a\rb\rc\r"), "a\nb\nc\n");
        for text in ["a\r\nb\r\n", "a\nb", "[1,\r2]"] {
            assert!(matches!(with_last_states(text), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
