//! Tests of the returned lines and the position to continue from.

use super::*;

const TOOL: &str = "read_repository_file";

fn arguments(more: &[(&str, Value)]) -> Value {
    let mut all = json!({"repository": "Manual", "path": "docs/a.md"});
    more.iter().for_each(|(name, value)| all[*name] = value.clone());
    all
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("line {n} of the text\n")).collect()
}

fn read(text: &str, more: &[(&str, Value)]) -> (String, Value) {
    let reply = call(host(text), TOOL, arguments(more)).unwrap();
    (reply.text(), data(TOOL, &reply))
}

#[test]
fn following_next_gives_every_byte_once() {
    for text in [lines(500), format!("{}\nend", "word ".repeat(2_000)), "ü ".repeat(1_500)] {
        let (mut line, mut character, mut all) = (1, 0, String::new());
        for _ in 0..40 {
            let (_, data) =
                read(&text, &[("start_line", line.into()), ("start_character", character.into())]);
            all += data["content"].as_str().unwrap();
            assert!(data["token_count"].as_u64().unwrap() <= 300);
            let Some(next) = data["next_start_line"].as_u64() else { break };
            (line, character) = (next, data["next_start_character"].as_u64().unwrap_or(0));
        }
        assert!(all == text, "{} bytes of {}", all.len(), text.len());
    }
}

#[test]
fn a_range_comes_with_its_numbers() {
    let (text, data) =
        read(&lines(50), &[("start_line", 9.into()), ("end_line", 10.into()), ("numbered", true.into())]);
    assert_eq!(
        text,
        "`manual/docs/a.md` (text of PDF, Page 4), lines 9-10 of 50.\n     9| line 9 of the text\n    10| line 10 of the text\n"
    );
    assert!(data.get("next_start_line").is_none());
    let (text, _) = read(&lines(50), &[("start_line", 49.into())]);
    assert!(
        text.starts_with("`manual/docs/a.md` (text of PDF, Page 4), lines 49-50 of 50. The end.\n"),
        "{text}"
    );
}

#[test]
fn an_invalid_range_is_rejected() {
    let fault =
        call(host("a\n"), TOOL, arguments(&[("start_line", 5.into()), ("end_line", 4.into())])).unwrap_err();
    assert_eq!(fault.message, "end_line is less than start_line");
    let fault = call(host("a\n"), TOOL, arguments(&[("start_line", 7.into())])).unwrap_err();
    assert_eq!(fault.message, "'docs/a.md' has 1 lines");
}
