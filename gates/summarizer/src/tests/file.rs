//! Tests of the returned parts of a stored result, and of paging.

use gatehouse_sdk::FaultKind;

use super::*;

const TOOL: &str = "get_workspace_file";

#[track_caller]
fn read(text: &str, more: Value) -> (String, Value) {
    host().run(|| read_kept(&keep(text), more))
}

#[track_caller]
fn read_kept(id: &str, more: Value) -> (String, Value) {
    let mut arguments = json!({"path": id});
    more.as_object().unwrap().iter().for_each(|(name, value)| arguments[name] = value.clone());
    call(TOOL, arguments).unwrap()
}

fn pages(text: &str, more: &Value) -> Vec<Value> {
    host().run(|| {
        let id = keep(text);
        let (mut pages, mut offset) = (Vec::new(), 0);
        for _ in 0..200 {
            let mut arguments = more.clone();
            arguments["offset"] = json!(offset);
            let (_, page) = read_kept(&id, arguments);
            assert!(page["content"].as_str().unwrap().chars().count() <= 8_000);
            let next = page["next"].as_u64();
            pages.push(page);
            let Some(next) = next else { return pages };
            assert!(next > offset, "no way on from {offset}");
            offset = next;
        }
        panic!("more than 200 pages");
    })
}

#[test]
fn pages_of_a_text_give_every_character_once() {
    for text in
        [lines(3_000), "ü".repeat(20_001), format!("{}\nend", "word ".repeat(5_000)), String::from("short")]
    {
        let all: String =
            pages(&text, &json!({})).iter().map(|page| page["content"].as_str().unwrap()).collect();
        assert!(all == text, "{} of {} bytes", all.len(), text.len());
    }
    assert!(pages(&lines(3_000), &json!({}))[0]["content"].as_str().unwrap().ends_with("fine\n"));
}

#[test]
fn pages_of_a_list_are_lists_of_whole_elements() {
    let rows: Vec<Value> = (0..900).map(|n| json!({"id": n, "name": format!("row \"{n}\", [ü]")})).collect();
    let text = serde_json::to_string_pretty(&json!({"rows": rows})).unwrap();
    for more in [
        json!({"json_pointer": "/rows"}),
        json!({"jq": ".rows"}),
        json!({"json_pointer": "/rows", "jq": "."}),
    ] {
        let pages = pages(&text, &more);
        let mut all: Vec<Value> = Vec::new();
        for page in &pages {
            assert_eq!((&page["unit"], &page["total"]), (&json!("elements"), &json!(900)));
            all.extend(serde_json::from_str::<Vec<Value>>(page["content"].as_str().unwrap()).unwrap());
        }
        assert!(pages.len() > 3 && all == rows);
    }
    let values: Vec<Value> = pages(&text, &json!({"jq": ".rows[] | {id, name}"}))
        .iter()
        .flat_map(|page| page["content"].as_str().unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    assert!(values == rows);
}

#[test]
fn pages_of_an_object_are_objects_of_whole_members() {
    let object: Value = (0..900)
        .map(|n| (format!("key {n}"), json!({"n": n, "at": [n, 1.50]})))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut all = serde_json::Map::new();
    for page in pages(&object.to_string(), &json!({"json_pointer": ""})) {
        all.extend(
            serde_json::from_str::<serde_json::Map<String, Value>>(page["content"].as_str().unwrap())
                .unwrap(),
        );
    }
    assert!(Value::from(all) == object);
}

#[test]
fn an_element_longer_than_a_page_is_named_and_skipped() {
    let text = json!({"a/b": [1, "x".repeat(9_000), 3]}).to_string();
    let pages = pages(&text, &json!({"json_pointer": "/a~1b"}));
    let contents: Vec<&str> = pages.iter().map(|page| page["content"].as_str().unwrap()).collect();
    assert_eq!(contents, ["[1]", "[]", "[3]"]);
    let (reply, _) = read(&text, json!({"json_pointer": "/a~1b", "offset": 1}));
    assert!(reply.contains("\"1\" with 9002 characters; use json_pointer \"/a~1b/1\"."), "{reply}");
    let (reply, _) = read(&text, json!({"jq": ".[\"a/b\"]", "offset": 1}));
    assert!(reply.contains("use jq \"(.[\\\"a/b\\\"])|.[1]\"."), "{reply}");
    let (reply, _) = read(&text, json!({"jq": ".[\"a/b\"][]", "offset": 1}));
    assert!(reply.contains("use jq \"([.[\\\"a/b\\\"][]])|.[1]\"."), "{reply}");
}

#[test]
fn a_string_is_paged_as_its_text() {
    let log = lines(1_000);
    let text = json!({"log": log}).to_string();
    for more in [json!({"json_pointer": "/log"}), json!({"jq": ".log"})] {
        let all: String = pages(&text, &more).iter().map(|page| page["content"].as_str().unwrap()).collect();
        assert_eq!(all, log);
    }
    let (reply, page) = read(&text, json!({"json_pointer": "/log"}));
    assert!(
        reply.contains("characters 0-") && reply.contains("The value is a string; this is its text."),
        "{reply}"
    );
    assert_eq!(page["total"], 20_000);
}

#[test]
fn lines_are_those_that_the_digest_names() {
    let (reply, page) = read(&lines(50), json!({"lines": "9-10"}));
    assert_eq!(page["content"], "line 000008 is fine\nline 000009 is fine\n");
    assert!(reply.starts_with("art-") && reply.contains(": all 40 characters.\n"), "{reply}");
    assert_eq!(read(&lines(50), json!({"lines": "50"})).1["content"], "line 000049 is fine\n");
    let all: String = pages(&lines(2_000), &json!({"lines": "2-"}))
        .iter()
        .map(|page| page["content"].as_str().unwrap())
        .collect();
    assert!(all == lines(2_000)[20..]);
}

#[test]
fn numbers_are_what_they_were() {
    assert_eq!(read("{\"a\": [1.50, 1]}", json!({"json_pointer": "/a/1"})).1["unit"], "value");
    assert_eq!(
        read("[1.50, 12345678901234567890123]", json!({"jq": "."})).1["content"],
        "[1.50,12345678901234567890123]"
    );
}

#[test]
fn jq_counts_selects_and_groups() {
    let text = json!({"rows": (0..100).map(|n| json!({"n": n, "even": n % 2 == 0})).collect::<Vec<_>>()})
        .to_string();
    for (program, expected) in [
        (".rows | length", "100"),
        ("[.rows[] | select(.n > 97) | .n]", "[98,99]"),
        (
            ".rows | group_by(.even) | map({even: .[0].even, count: length})",
            "[{\"even\":false,\"count\":50},{\"even\":true,\"count\":50}]",
        ),
        ("[.rows[].n] | add, max", "4950\n99"),
        (".rows | sort_by(-.n) | .[0].n", "99"),
        ("first(.rows[] | select(.n | tostring | endswith(\"7\")))", "{\"n\":7,\"even\":false}"),
        ("[.rows[].n | tostring | select(test(\"^9[0-2]$\"))]", "[\"90\",\"91\",\"92\"]"),
        ("\"AB\" | test(\"b\"; \"i\"), ascii_downcase, split(\"A\")[1]", "true\n\"ab\"\n\"B\""),
        ("empty", ""),
    ] {
        assert_eq!(read(&text, json!({"jq": program})).1["content"], expected, "{program}");
    }
    let (reply, page) = read("{\"a\":1}\n{\"a\":2}\n", json!({"jq": "map(.a)"}));
    assert_eq!(page["content"], "[1,2]");
    assert!(
        reply.contains("The result is JSON Lines; the filter's input is an array of all lines."),
        "{reply}"
    );
}

#[test]
fn contradictory_parameters_are_explained() {
    let text = "{\"a\": [1, 2]}";
    let fault = |text: &str, more: Value| {
        host().run(|| {
            let mut arguments = json!({"path": keep(text)});
            more.as_object().unwrap().iter().for_each(|(name, value)| arguments[name] = value.clone());
            call(TOOL, arguments).unwrap_err()
        })
    };
    for (text, more, message) in [
        (text, json!({"jq": ".a["}), "jq: "),
        (text, json!({"jq": "nothing(1)"}), "jq: unknown filter 'nothing'"),
        (text, json!({"jq": ".a | .b"}), "jq: cannot "),
        (text, json!({"jq": "test(\"a\")"}), "jq: "),
        ("\"a\"", json!({"jq": "test(\"(\")"}), "jq: "),
        ("\"a\"", json!({"jq": "test(\"(?=a)\")"}), "jq: "),
        (text, json!({"jq": "halt"}), "jq: unknown filter 'halt'"),
        (text, json!({"jq": "$ENV"}), "jq: "),
        (text, json!({"jq": ". as $x | input"}), "jq: "),
        ("no JSON", json!({"jq": "."}), "jq needs JSON: "),
        (&"[".repeat(300), json!({"jq": "."}), "the value is nested deeper than 256 levels"),
        (text, json!({"lines": "0-3"}), "invalid lines '0-3'"),
        (text, json!({"lines": "9-3"}), "invalid lines '9-3'"),
        (text, json!({"lines": "2"}), "'art-"),
        (text, json!({"lines": "1", "jq": "."}), "lines cannot be combined with jq"),
        (text, json!({"lines": "1", "json_pointer": "/a"}), "the value at '/a' is not a string"),
        (text, json!({"find": ""}), "invalid value for `find`: expected 1 to 1024 bytes"),
        (text, json!({"find": "/a(/"}), "invalid regular expression in `find`: "),
        (text, json!({"find": "a", "jq": "."}), "find cannot be combined with lines or jq"),
    ] {
        let fault = fault(text, more.clone());
        assert_eq!(fault.kind, FaultKind::InvalidArguments, "{more}");
        assert!(fault.message.starts_with(message), "{more}: {}", fault.message);
    }
    assert_eq!(fault(text, json!({"json_pointer": "/b"})).kind, FaultKind::NotFound);
    let missing = host().run(|| call(TOOL, json!({"path": "art-000000000000"})).unwrap_err());
    assert!(missing.kind == FaultKind::NotFound && missing.hint.unwrap().contains("search_workspace"));
}

#[test]
fn a_uri_works_as_an_id() {
    host().run(|| {
        let id = keep("text");
        assert_eq!(read_kept(&format!("gatehouse://artifact/{id}"), json!({})).1["content"], "text");
    });
}

#[test]
fn a_text_or_a_regular_expression_is_found_with_the_lines_around_it() {
    let text: String =
        (1..=50).map(|n| format!("{}line {n} of ä\n", if n % 20 == 3 { "WARN " } else { "" })).collect();
    let long = format!("{}needle{}needle{}", "x".repeat(900), "y".repeat(900), "z".repeat(900));
    host().run(|| {
        let matches = |text: &str, more: Value| {
            let (head, data) = read_kept(&keep(text), more);
            (head.lines().next().unwrap().to_owned(), data["content"].as_str().unwrap().to_owned())
        };
        let (head, content) = matches(&text, json!({"find": "warn LINE"}));
        assert!(head.ends_with("3 matches in 50 lines."), "{head}");
        assert!(content.starts_with("1- line 1 of ä\n2- line 2 of ä\n3: WARN line 3 of ä\n4- "), "{content}");
        assert!(content.contains("5- line 5 of ä\n--\n21- "), "{content}");
        let (head, content) = matches(&text, json!({"find": "/line 4[0-9] of .$/"}));
        assert!(head.ends_with("10 matches in 50 lines.") && !content.contains("--"), "{head}{content}");
        assert_eq!(content.lines().filter(|line| line.contains(": ")).count(), 10);
        let (head, content) = matches(&long, json!({"find": "needle"}));
        assert!(head.ends_with("2 matches in 1 lines.") && content.len() < 1_000, "{head} {content}");
        assert!(
            content.contains("xneedley") && content.contains("…y") && content.ends_with("…\n"),
            "{content}"
        );
        let accents = format!("{} é Error ERROR error ÄÖ", "x".repeat(900));
        let (head, content) = matches(&accents, json!({"find": "error"}));
        assert!(
            head.ends_with("3 matches in 1 lines.") && content.contains("é Error ERROR error"),
            "{head} {content}"
        );
        assert!(matches(&accents, json!({"find": "äö"})).0.ends_with("1 match in 1 lines."));
        assert!(matches(&text, json!({"find": "nowhere"})).0.ends_with("No match in 50 lines."));
        let data = json!({"log": text}).to_string();
        let (_, content) = matches(&data, json!({"find": "WARN line 43", "json_pointer": "/log"}));
        assert!(content.contains("43: WARN line 43 of ä"), "{content}");
        let (_, content) = matches(&data, json!({"lines": "2-3", "json_pointer": "/log"}));
        assert_eq!(content, "line 2 of ä\nWARN line 3 of ä");
    });
}

#[test]
fn a_question_gets_a_digest_of_the_whole() {
    let rows: Vec<Value> = (0..400).map(|n| json!({"id": n, "name": format!("user {n}")})).collect();
    let text = format!("Found 400 users.\n{}", json!(rows));
    let (head, part) = read(&text, json!({"question": "which id has user 317?"}));
    assert!(head.contains(": a digest for the question, of all "), "{head}");
    assert_eq!(part["unit"], "digest");
    assert!(part["content"].as_str().unwrap().contains("which id has user 317?"), "{part}");
    host().run(|| {
        let id = keep(&text);
        for more in [json!({"jq": "."}), json!({"lines": "1"}), json!({"find": "x"}), json!({"offset": 5})] {
            let mut arguments = json!({"path": id, "question": "x"});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(call(TOOL, arguments).unwrap_err().kind, FaultKind::InvalidArguments, "{more}");
        }
    });
}
