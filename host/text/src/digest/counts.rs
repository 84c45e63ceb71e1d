//! Reads what a line counts: `2 failed`, `failed=1`.

use crate::split_list;

/// Things that outcomes count.
const COUNTED: [&str; 49] = split_list(
    "passed passing failed failing failure failures error errors warning warnings skipped ignored added \
    changed destroyed removed updated installed upgraded packages tests suites vulnerabilities problems \
    succeeded ok unreachable deleted created modified insertions deletions pending critical high \
    moderate low add change destroy run total tasks targets files issues rescued unchanged rejected",
    b' ',
);

/// Maximum words of a line to read.
const MAX_READ_WORDS: usize = 80;

/// Returns what a line counts, in lower case: `2 failed`, `25 to add`, `failed=1`, `Errors: 0`.
pub(super) fn counts(line: &str) -> Vec<(&str, u64)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words: Vec<&str> = line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    words.truncate(MAX_READ_WORDS);
    let number = |at: Option<usize>| -> Option<u64> { words.get(at?)?.parse().ok() };
    // The words are parts of the line, so their ends are positions in it.
    let rest = |word: &str| &line[word.as_ptr() as usize - line.as_ptr() as usize + word.len()..];
    let is_key = |word: &str| rest(word).starts_with(['=', ':']);
    let count = |at: usize| {
        let after = number(Some(at + 1)).filter(|_| is_key(words[at]));
        let before = || {
            number(at.checked_sub(1)).or_else(|| number(at.checked_sub(2)).filter(|_| is_link(words[at - 1])))
        };
        after.or_else(before).or_else(|| number(Some(at + 1)).filter(|_| rest(words[at]).starts_with(' ')))
    };
    (0..words.len())
        .filter(|at| COUNTED.contains(&words[*at]))
        .filter_map(|at| Some((words[at], count(at)?)))
        .collect()
}

/// Returns whether a word can be between a number and what it counts.
fn is_link(word: &str) -> bool {
    matches!(word, "to" | "previous" | "of" | "more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_their_numbers() {
        assert_eq!(counts("failures: 0, 12 passed; 3 to add"), [("failures", 0), ("passed", 12), ("add", 3)]);
        assert_eq!(counts("ok=14 changed=2 failed=0"), [("ok", 14), ("changed", 2), ("failed", 0)]);
        assert_eq!(counts("tests: 1 failed, 9 passed"), [("tests", 1), ("failed", 1), ("passed", 9)]);
    }
}
