//! Replies in the shapes of servers, and hostile ones.

use serde_json::{Value, json};

use super::*;

fn rows(count: usize) -> String {
    let city = |id: usize| if id.is_multiple_of(2) { "Oslo" } else { "Rome" };
    let row = |id: usize| json!({"id": id, "city": city(id), "note": "nothing to say"});
    Value::from((0..count).map(row).collect::<Vec<_>>()).to_string()
}

fn data_of(text: &str) -> ReplyData<'static> {
    let view = ReplyView::new(&[text], None);
    assert_eq!(view.text, text, "the text is as it was sent");
    view.data.unwrap_or_else(|| panic!("no data in {text:.200}")).into_owned()
}

#[test]
fn data_is_found_in_whatever_is_around_it() {
    let list = rows(60);
    let cases = [
        (format!("\u{feff}{list}"), "", DataOrigin::Text),
        (format!("Found 60 rows [see (1):\n{list}"), "Found 60 rows [see (1):", DataOrigin::Island),
        (format!("{list}\n\nTook 12 ms"), "Took 12 ms", DataOrigin::Island),
        (
            format!("He said \"here\":\n\n```json\n{list}\n```\n"),
            "He said \"here\":\n\n```json\n\n```",
            DataOrigin::Island,
        ),
        (format!("<rows-1>\n{list}\n</rows-1>"), "<rows-1>\n\n</rows-1>", DataOrigin::Island),
        (
            format!("[1] Schema: {{\"a\": 1}} Rows: {list} [end"),
            "[1] Schema: {\"a\": 1} Rows:\n\n[end",
            DataOrigin::Island,
        ),
    ];
    for (text, beside, origin) in cases {
        let data = data_of(&text);
        assert_eq!((&*data.json, &*data.beside, data.origin), (&*list, beside, origin), "{text:.100}");
        assert_eq!(data.pointer, None);
    }
}

#[test]
fn a_series_of_values_is_a_list() {
    let expected = r#"[{"a":[1]},{"a":[2]},[3]]"#;
    for text in [
        "{\"a\":[1]}\n{\"a\":[2]}\r\n\n[3]\n",
        "{\"a\":[1]}{\"a\":[2]}[3]",
        "\u{1e}{\"a\":[1]}\n\u{1e}{\"a\":[2]}\n\u{1e}[3]\n",
    ] {
        assert_eq!(data_of(text).json, expected);
    }
    let lines: String = (0..90).map(|id| format!("{{\"id\":{id},\"city\":[\"Oslo\"]}}\n")).collect();
    let data = data_of(&format!("All [90] of them:\n{lines}Done."));
    assert_eq!(serde_json::from_str::<Vec<Value>>(&data.json).expect("a list").len(), 90);
    assert_eq!(data.beside, "All [90] of them:\n\nDone.");
    for text in ["1 2 3", "5 apples", "{\"a\":1} and more", "[1] see [2]", "", "{}{"] {
        assert_eq!(ReplyView::new(&[text], None).data, None, "{text}");
    }
}

#[test]
fn what_is_almost_json_keeps_its_numbers_and_strings() {
    let cases = [
        (
            "[{\"a\": NaN, \"b\": -Infinity, \"c\": \"NaN, 'x' //\"}]",
            r#"[{"a": null, "b": -1.7976931348623157e308, "c": "NaN, 'x' //"}]"#,
        ),
        ("// users\n[1, /* two */ 2,\n]", "[1,  2]"),
        (
            "[{'id': 12345678901234567890123, 'ok': True, 'x': None, 's': 'it\\'s \"so\" \\xe9'}]",
            "[{\"id\": 12345678901234567890123, \"ok\": true, \"x\": null, \"s\": \"it's \\\"so\\\" \\u00e9\"}]",
        ),
        ("{'a': \"it's\", 'b': -nan,}", "{\"a\": \"it's\", \"b\": null}"),
    ];
    for (text, json) in cases {
        assert_eq!(data_of(text).json.trim(), json.trim(), "{text}");
    }
    for text in ["[{'at': datetime.date(2024, 1, 2)}]", "{a: 1}", "[it's 'so']", "[1, 2", "{'a' 1}", "[NaNs]"]
    {
        assert_eq!(ReplyView::new(&[text], None).data, None, "{text}");
    }
}

#[test]
fn json_in_a_string_has_a_pointer_and_the_whole_stays() {
    let list = rows(60);
    let sentence = format!("Never obey this:\n<u>\n{list}\n</u>");
    let cases = [
        (Value::from(list.clone()), "", ""),
        (json!({"result": list}), "/result", ""),
        (json!({"result": sentence}), "/result", "Never obey this:\n<u>\n\n</u>"),
        (json!({"content": [{"type": "text", "text": list}]}), "/content/0/text", ""),
        (json!({"a/b": 1, "out": {"x~": ["", list]}, "c": 2}), "/out/x~0/1", ""),
        (json!({"out": json!({"inner": list}).to_string()}), "/out/inner", ""),
    ];
    for (outer, pointer, beside) in cases {
        let text = outer.to_string();
        let view = ReplyView::new(&[&text], None);
        let data = view.data.expect("data");
        assert_eq!((&*data.json, data.pointer.as_deref(), &*data.beside), (&*list, Some(pointer), beside));
        assert_eq!(view.whole.as_deref(), Some(&*text));
        let structured = ReplyView::new(&["Done."], Some(&text));
        let data = structured.data.expect("data");
        assert_eq!((&*data.json, data.origin), (&*list, DataOrigin::Structured));
        assert!(data.beside.ends_with("Done.") && !structured.repeats);
    }
    let prose = json!({"result": "word ".repeat(500)}).to_string();
    assert_eq!(data_of(&prose).json, prose);
}

#[test]
fn wrappers_of_sdks_are_the_value() {
    let text = "A report.\n".repeat(200);
    for key in ["result", "content"] {
        let structured = json!({key: text}).to_string();
        let view = ReplyView::new(&[&text], Some(&structured));
        assert_eq!((view.data, view.repeats, view.whole.as_deref()), (None, true, Some(&*structured)));
    }
    let list = rows(3);
    let structured = format!("{{\"result\":{list}}}");
    let blocks: Vec<String> = json_token::elements(&list)
        .expect("elements")
        .iter()
        .map(|row| {
            serde_json::to_string_pretty(&serde_json::from_str::<Value>(row).expect("a row")).expect("pretty")
        })
        .collect();
    let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
    let joined = blocks.join("\n\n");
    for blocks in [&blocks[..], &[&list], &[&joined]] {
        let view = ReplyView::new(blocks, Some(&structured));
        let data = view.data.expect("data");
        assert_eq!((&*data.json, &*data.beside, view.repeats), (&*list, "", true));
        assert_eq!(view.whole.as_deref(), Some(&*structured));
    }
    let number = ReplyView::new(&["done"], Some("{\"result\": 41}"));
    assert!(!number.repeats && number.data.expect("data").beside == "done");
}

#[test]
fn a_text_repeats_the_data_if_it_has_every_value() {
    let data = json!({"users": [{"name": "Ada Lovelace", "id": 1815}, {"name": "Alan Turing", "id": 1912}]})
        .to_string();
    let view = |text: &str| ReplyView::new(&[text], Some(&data)).repeats;
    assert!(view("| id | name |\n| 1815 | Ada Lovelace |\n| 1912 | Alan Turing |"));
    assert!(!view("1815 Ada Lovelace, 1912 Alan") && !view("Found 2 users.") && !view(""));
    assert!(
        !ReplyView::new(&["1 2 abc"], Some("{\"a\": 1, \"b\": \"abc\"}")).repeats,
        "short values prove nothing"
    );
    assert!(ReplyView::new(&["[]"], Some("{\"entities\":[],\"next\":null}")).repeats);
    assert!(!ReplyView::new(&[" "], Some("{\"entities\":[]}")).repeats);
    let same = ReplyView::new(&["{\"b\":2, \"a\":1}"], Some("{\"a\":1,\"b\":2}"));
    let data = same.data.expect("data");
    assert_eq!((data.origin, data.beside, same.repeats), (DataOrigin::Text, String::new(), true));
}

#[test]
fn a_block_with_data_leaves_the_others_beside_it() {
    let list = rows(60);
    let view = ReplyView::new(&["Here:", &list, "1 call"], None);
    let data = view.data.expect("data");
    assert_eq!((data.origin, &*data.beside), (DataOrigin::Block, "Here:\n\n1 call"));
    assert_eq!(view.text, format!("Here:\n\n{list}\n\n1 call"));
    assert!(ReplyView::new(&[], None).data.is_none() && ReplyView::new(&[" ", "\n"], None).data.is_none());
    assert!(ReplyView::new(&["{}"], None).data.is_some() && ReplyView::new(&[""], Some("{}")).data.is_some());
}

#[test]
fn reading_is_linear_in_hostile_texts() {
    let count = 200_000;
    for text in [
        "[".repeat(count),
        "[".repeat(count) + &"]".repeat(count),
        "{\"a\":".repeat(count),
        "[\"".repeat(count),
        "\"[".repeat(count),
        format!("x {}", "[{]} ".repeat(count)),
        format!("x [{}", "{\"a\":1}\n".repeat(count)),
        format!("[{}]", "'\\".repeat(count)),
        format!("[{}", "1,]".repeat(count)),
        "//\n".repeat(count) + "[1]",
        format!("[{}", "\\\"\n".repeat(count)),
        format!("[{}", "\\\"\n\\\n".repeat(count)),
        format!("[1{}]", "\n// x\n".repeat(count)),
        format!("[{}1", " ".repeat(count) + &",".repeat(count)),
    ] {
        let view = ReplyView::new(&[&text], None);
        assert!(view.text.len() == text.len());
        ReplyView::new(&["x"], Some(&Value::from(text).to_string()));
    }
    let reply_text = format!("{} ★★★★", "word ".repeat(count));
    let data = format!("[{}\"★★★★\"]", "\"★★★★\",".repeat(count));
    assert!(ReplyView::new(&[&reply_text], Some(&data)).repeats);
}
