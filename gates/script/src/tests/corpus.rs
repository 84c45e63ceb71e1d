//! TypeScript as models write it. It runs, or the error explains what to change. Each snippet in `corpus.txt` has a
//! title, its code, and the result after `=>` or the start of the error after `=!`.

use super::run_with;

const CORPUS: &str = include_str!("corpus.txt");

#[test]
fn scripts_by_models_run_or_get_a_suggestion() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for snippet in CORPUS.split("### ").skip(1) {
        let (title, rest) = snippet.split_once('\n').expect("a title");
        let at = rest.rfind("\n=").expect("what comes back");
        let (code, expected) = (&rest[..at], rest[at + 1..].trim());
        let (failed, text) = run_with(code, 5_000, "{\"may\":\"execute\"}");
        let good = match expected.strip_prefix("=>") {
            Some(value) => !failed && text == value.trim().replace("\\n", "\n"),
            None => {
                failed && text.starts_with(&expected.trim_start_matches("=!").trim().replace("\\n", "\n"))
            }
        };
        count += 1;
        if !good {
            wrong.push(format!("{title}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
    assert!(count >= 60, "{count} snippets");
}
