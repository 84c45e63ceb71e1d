//! Constant lists of words, each written as one text.

/// Splits a list at each `|`, at compile time. A list with another number of words does not compile.
pub const fn split_list<const N: usize>(list: &'static str) -> [&'static str; N] {
    let mut words = [""; N];
    let (mut rest, mut count, mut end) = (list, 0, 0);
    while end < rest.len() {
        if rest.as_bytes()[end] != b'|' {
            end += 1;
            continue;
        }
        words[count] = rest.split_at(end).0;
        rest = rest.split_at(end + 1).1;
        count += 1;
        end = 0;
    }
    words[count] = rest;
    assert!(count + 1 == N, "the list has another number of words");
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_split_into_their_words() {
        assert_eq!(split_list("a|b c|é"), ["a", "b c", "é"]);
        assert_eq!(split_list("one"), ["one"]);
    }
}
