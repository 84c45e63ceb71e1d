//! Entry points for untrusted input, for the tests here and for cargo-fuzz.

pub fn page(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let page = crate::wiki::parse(&text);
    // Parsing only removes text.
    assert!(page.content.len() <= text.len(), "a page has more text than its file");
}

pub fn question(input: &[u8]) {
    crate::sql::sqlite::fuzz_question(&String::from_utf8_lossy(input));
}

#[cfg(test)]
mod tests {
    use gatehouse_mutate::Target;

    use super::*;

    #[test]
    fn any_text_is_a_page() {
        const TARGET: Target = Target {
            name: "page",
            seeds: &[
                include_bytes!("../../../docs/sample-wiki/heuristics/Deadline_Inside_Retry.md").as_slice(),
                include_bytes!("../../../docs/sample-wiki/environments/SQLite_With_FTS5.md"),
                b"# Principle: X\n\n{| class=\"wikitable\"\n|-\n! Domains\n| [[domain::A_B]]\n|}\n\n== Overview ==\ntext\n",
            ],
            words: &[
                "== ", "[[", "]]", "::", "{|", "|}", "|-", "\n! ", "```", "<nowiki>", "</nowiki>", "<!--", "-->", "\r\n",
                "[[uses_heuristic::Heuristic:X]]", "[[last_updated::", "\u{feff}", "é", "\u{2028}", "# ",
            ],
            run: page,
        };
        TARGET.test();
    }

    #[test]
    fn any_text_is_a_question() {
        const TARGET: Target = Target {
            name: "question",
            seeds: &[
                b"fine-tuning OR \"x\" NEAR(a b)",
                "模型 猫 модель".as_bytes(),
                b"path:x* ^y {a b}: c -d",
            ],
            words: &[
                "\"", "*", "AND", "NOT", "NEAR(", "^", ":", "(", ")", "模", "é", "\u{301}", "\0", "_", "-",
            ],
            run: question,
        };
        TARGET.test();
    }
}
