//! The words that speak of errors.

/// Beginnings of words, in lower case. Each stands for its inflections as well.
const ERRORS: [&str; 24] = [
    "error",
    "fail",
    "fatal",
    "exception",
    "traceback",
    "panic",
    "crash",
    "abort",
    "denied",
    "refused",
    "timeout",
    "timed out",
    "unauthorized",
    "forbidden",
    "invalid",
    "unavailable",
    "unreachable",
    "corrupt",
    "overflow",
    "segfault",
    "rejected",
    "exceeded",
    "missing",
    "not found",
];

/// Text that is looked at; a log of megabytes shows its errors early or in its rows.
const LOOKED_AT: usize = 16 << 10;

/// Where in a text the first word stands that speaks of an error.
pub(super) fn error_at(text: &str) -> Option<usize> {
    let bytes = &text.as_bytes()[..text.len().min(LOOKED_AT)];
    let begins = |at: usize, word: &str| {
        bytes.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    let mut inside = false;
    for (at, byte) in bytes.iter().enumerate() {
        let letter = byte.is_ascii_alphabetic();
        // `IOException` and `read_error` count: a capital beside a small letter begins a word, and so does what
        // follows no letter.
        let small = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_lowercase);
        let capital = byte.is_ascii_uppercase() && (small(at.checked_sub(1)) || small(Some(at + 1)));
        let may = letter && (!inside || capital) && MAY_BEGIN[(byte | 0x20) as usize];
        if may && ERRORS.iter().any(|word| begins(at, word)) {
            return Some(at);
        }
        // The letter of an escape (`\n`) is not part of a word.
        inside = letter && !(at > 0 && bytes[at - 1] == b'\\');
    }
    None
}

/// The first letters, which spare a comparison with every word at every word.
const MAY_BEGIN: [bool; 256] = {
    let mut may = [false; 256];
    let mut word = 0;
    while word < ERRORS.len() {
        may[ERRORS[word].as_bytes()[0] as usize] = true;
        word += 1;
    }
    may
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_errors_are_found_in_their_forms() {
        for text in [
            "Connection refused",
            "java.io.IOException: x",
            "TimeoutError",
            "3 tests FAILED",
            "read_error",
            "a\\nerror",
        ] {
            assert!(error_at(text).is_some(), "{text}");
        }
        for text in ["ok", "terrors", "a mirror", "prevail", "", "undenied", "日本"] {
            assert!(error_at(text).is_none(), "{text}");
        }
    }
}
