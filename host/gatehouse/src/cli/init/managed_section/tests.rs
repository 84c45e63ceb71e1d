//! Tests of marking, replacing and removing the section.

use super::*;

fn restored(text: &str) -> String {
    match remove_section(text, "").expect("markers").expect("a section") {
        PlannedContent::Text(text) => text,
        PlannedContent::Removed { .. } => panic!("nothing left of {text:?}"),
    }
}

#[test]
fn undo_restores_each_byte() {
    for before in ["", "a", "a\n", "a\n\n", "a\r\n", "a\r\nb", "a\r\n\r\n", "\u{feff}", "\u{feff}a\n", "\n"] {
        let with = put_section(before, "one\ntwo").expect("put");
        assert_eq!(restored(&with), before, "{with:?}");
        let again = put_section(&with, "three").expect("put");
        assert!(again.contains("three") && !again.contains("one"), "{again:?}");
        assert_eq!(restored(&again), before, "{again:?}");
    }
}

#[test]
fn sections_are_replaced_in_place_with_the_line_ends_of_the_file() {
    let with = put_section("# Mine\r\n", "one\ntwo").expect("put");
    assert_eq!(
        with,
        "# Mine\r\n\r\n<!-- gatehouse:begin line-ends=1 -->\r\none\r\ntwo\r\n<!-- gatehouse:end -->\r\n"
    );
    let longer = format!("{with}after\r\n");
    let again = put_section(&longer, "three").expect("put");
    assert!(again.ends_with("\r\nthree\r\n<!-- gatehouse:end -->\r\nafter\r\n"), "{again:?}");
    assert_eq!(restored(&again), "# Mine\r\n\r\nafter\r\n");
}

#[test]
fn a_file_that_was_made_for_a_section_goes_with_it() {
    let file = new_file("---\na: b\n---\n", "one", 2);
    assert_eq!(remove_section(&file, "---\na: b\n---\n"), Ok(Some(PlannedContent::Removed { folders: 2 })));
    let kept = remove_section(&format!("{file}mine\n"), "---\na: b\n---\n");
    assert_eq!(kept, Ok(Some(PlannedContent::Text("mine\n".into()))));
    assert_eq!(remove_section("mine\n", ""), Ok(None));
}

#[test]
fn errors_for_broken_markers_name_lines() {
    let (begin, end) = ("<!-- gatehouse:begin line-ends=1 -->\n", "<!-- gatehouse:end -->\n");
    for (text, expected) in [
        (begin.to_owned(), "`gatehouse:begin` is in line 1, `gatehouse:end` is missing"),
        (end.to_owned(), "`gatehouse:begin` is missing, `gatehouse:end` is in line 1"),
        (format!("{end}{begin}"), "is in line 2, `gatehouse:end` is in line 1"),
        (format!("{begin}{end}{begin}{end}"), "is in lines 1, 3, `gatehouse:end` is in lines 2, 4"),
        (format!("{begin}{begin}{end}"), "is in lines 1, 2, `gatehouse:end` is in line 3"),
        (format!("<!-- gatehouse:begin 7 -->\n{end}"), "line 1: invalid marker"),
        (format!("<!-- gatehouse:begin-->\n{end}"), "line 1: invalid marker"),
    ] {
        let reason = put_section(&text, "x").expect_err(&text);
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(remove_section(&text, ""), Err(reason));
    }
    assert_eq!(has_section("as in `<!-- gatehouse:begin -->`\n"), Ok(false), "a mention is no marker");
}
