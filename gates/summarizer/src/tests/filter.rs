//! Tests of which results are shortened, and how.

use gatehouse_sdk::{Media, ResourceLink, artifacts};

use super::*;

#[test]
fn small_error_and_own_replies_are_unchanged() {
    host().run(|| {
        assert_eq!(filtered(&lines(100)), None);
        // Below `digest_above`, only a lossless form could replace it.
        assert_eq!(filtered(&lines(250)), None);
        let error = Reply { is_error: true, ..Reply::markdown(lines(5_000)) };
        assert_eq!(filtered_with(testing::origin("look"), &json!({}), error, &json!({})), None);
        let own = testing::origin("get_workspace_file");
        assert_eq!(filtered_with(own, &json!({}), Reply::markdown(lines(5_000)), &json!({})), None);
    });
}

#[test]
fn a_lossless_form_is_used_if_it_saves_enough() {
    // Bytes, the lossless form's percentage of tokens, and whether it is used. A tool that needs exact text has none.
    for (bytes, share, taken) in [
        (4_000, 60, [true, false]),
        (4_000, 61, [false, false]),
        (6_000, 30, [true, false]),
        (6_000, 31, [false, false]),
    ] {
        let form = move |text: &str| {
            let tokens_in = (text.len() / 4) as u32;
            let text = "a,b\n1,2\n".into();
            Ok(Some(CompactResult { text, tokens_in, tokens_out: tokens_in * share / 100 }))
        };
        host().compact(form).run(|| {
            for (tool, taken) in ["look", "read_file"].into_iter().zip(taken) {
                let reply = Reply::markdown("x".repeat(bytes));
                let short = filtered_with(testing::origin(tool), &json!({}), reply, &json!({}));
                let form = short.map(|reply| reply.text()).filter(|text| text == "a,b\n1,2\n");
                assert_eq!(form.is_some(), taken, "{tool}, {bytes} bytes, {share} %");
            }
        });
    }
}

#[test]
fn a_lossless_form_that_is_still_long_is_not_used() {
    for (length, taken) in [(40_000, true), (40_001, false)] {
        let form = move |_: &str| {
            Ok(Some(CompactResult { text: "y".repeat(length), tokens_in: 100_000, tokens_out: 10_000 }))
        };
        host().compact(form).run(|| {
            let short =
                filtered_with(testing::origin("look"), &json!({}), Reply::markdown(lines(5_000)), &json!({}));
            assert_eq!(short.is_some_and(|reply| reply.text().len() == length), taken, "{length}");
        });
    }
}

#[test]
fn excluded_tools_are_never_shortened() {
    host().run(|| {
        for tool in ["read_file", "fs__read_file_lines", "Grep"] {
            let reply = Reply::markdown(lines(5_000));
            assert_eq!(filtered_with(testing::origin(tool), &json!({}), reply, &json!({})), None, "{tool}");
        }
    });
}

#[test]
fn the_content_of_a_file_passes_and_a_listing_or_a_page_does_not() {
    let schema =
        |name: &str| json!({"type": "object", "properties": {name: {}}, "required": [name]}).to_string();
    let passes = |tool: &str, name: &str, value: &str, text: &str| {
        let mut origin = testing::origin(tool);
        origin.tool.input_schema = schema(name);
        host()
            .run(|| filtered_with(origin, &json!({name: value}), Reply::markdown(text), &json!({})).is_none())
    };
    let text = lines(5_000);
    for (tool, name, value) in
        [("open", "path", "a.rs"), ("cat", "file_path", "/x"), ("load", "uri", "file:///x")]
    {
        assert!(passes(tool, name, value, &text), "{tool}");
    }
    for (tool, name, value) in [
        ("list_directory", "path", "src"),
        ("open", "path", "https://example.org"),
        ("load", "uri", "https://example.org"),
        ("open", "id", "a.rs"),
    ] {
        assert!(!passes(tool, name, value, &text), "{tool} {value}");
    }
    assert!(
        !passes("open", "path", "a.json", &json!({"text": lines(5_000)}).to_string()),
        "JSON can be filtered"
    );
    for tool in
        ["fs__read_text_file", "read_multiple_files", "git_diff_unstaged", "git_show", "get_file_contents"]
    {
        assert!(passes(tool, "x", "", &text), "{tool}");
    }
}

#[test]
fn a_large_result_is_shortened_and_stored_unchanged() {
    host().run(|| {
        let text = lines(5_000);
        let short = filtered(&text).unwrap();
        let head = head(&short);
        let id = head["metadata"]["artifactId"].as_str().unwrap();
        assert_eq!(
            head,
            json!({
                "keyFindings": ["The document has 5000 lines."], "actionableInsights": [],
                "metadata": {
                    "toolName": "look", "serverId": "server", "timestamp": "2026-11-23T00:00:00Z",
                    "artifactId": id, "method": "extractive"
                },
                "note": head["note"]
            })
        );
        let note = head["note"].as_str().unwrap();
        assert!(note.starts_with("shortened from 25000 to "), "{note}");
        assert!(
            note.ends_with(&format!("; full result stored: get_workspace_file {{\"path\":\"{id}\"}}")),
            "{note}"
        );
        assert_eq!(short.content[1], Content::Text("Rows that match \"what is late\": none.".into()));
        let Content::Link(ResourceLink { uri, size, .. }) = &short.content[2] else { panic!("{short:?}") };
        assert_eq!(
            (uri.as_str(), *size),
            (format!("gatehouse://artifact/{id}").as_str(), Some(text.len() as u64))
        );
        assert_eq!(artifacts::read(id, &artifacts::Part::Whole).unwrap().text, text);
        testing::advance(60_000);
        assert_eq!(filtered(&text), Some(short));
    });
}

#[test]
fn hints_use_exposed_tool_names() {
    let note = |host: Fake| host.run(|| head(&filtered(&lines(5_000)).unwrap())["note"].to_string());
    assert!(note(host().exposes_as("get_workspace_file", "whole")).contains("stored: whole {"));
    let envelope = note(host().exposes_as("request", "ask"));
    assert!(
        envelope.contains(
            r#"stored: ask {\"intent\":\"QUERY\",\"action\":\"get_workspace_file\",\"params\":{\"path\":"#
        ),
        "{envelope}"
    );
    let bare = note(without_tools());
    assert!(bare.contains("; full result stored as gatehouse://artifact/art-"), "{bare}");
}

#[test]
fn non_text_blocks_stay_and_data_is_dropped() {
    host().run(|| {
        let image = Content::Image(Media { data: vec![1], mime_type: "image/png".into() });
        let data = json!({"lines": lines(5_000)});
        let reply = Reply::markdown(lines(5_000)).with(image.clone()).structured(&data).unwrap();
        let short = filtered_with(testing::origin("look"), &json!({}), reply, &json!({})).unwrap();
        assert_eq!((short.content.last(), &short.structured), (Some(&image), &None));
        let id = head(&short)["metadata"]["artifactId"].as_str().unwrap().to_owned();
        assert_eq!(artifacts::read(&id, &artifacts::Part::Whole).unwrap().text, lines(5_000));
        let kept = artifacts::view(&id).unwrap().data.unwrap();
        assert_eq!(kept.json, data.to_string());
    });
}

#[test]
fn a_short_form_that_saves_less_than_half_is_not_used() {
    let long = |text: &str, _: &str, _: u32| {
        let half = text[..text.len() / 2].to_owned();
        let tokens = (text.len() / 4) as u32;
        let kind = "text".into();
        Ok(DigestResult {
            text: half,
            findings: vec![],
            kind,
            tokens_in: tokens,
            tokens_out: tokens / 2,
            shortened: true,
        })
    };
    host().digest(long).run(|| assert_eq!(filtered(&lines(5_000)), None));
}

#[test]
fn the_result_of_an_envelope_is_shortened_inside_it() {
    host().run(|| {
        let rows: Vec<Value> = (0..400).map(|n| json!({"id": n, format!("k{}", n % 9): n * 31 % 89})).collect();
        let rows = json!({ "rows": rows }).to_string();
        let envelope = json!({"ok": true, "request": {"action": "a/b"},
            "result": {"artifact_type": "TEXT", "data": rows, "affected_files": []}, "meta": {"duration_ms": 4}});
        let origin = testing::origin("look");
        let reply = Reply::markdown(envelope.to_string());
        let short = filtered_with(origin, &json!({}), reply, &json!({})).expect("a short form");
        let [Content::Text(text), Content::Link(_)] = &short.content[..] else { panic!("{short:?}") };
        let answer: Value = serde_json::from_str(text).unwrap();
        assert_eq!((&answer["ok"], &answer["meta"]["duration_ms"]), (&json!(true), &json!(4)));
        let data = &answer["result"]["data"];
        assert!(data["keyFindings"].is_array() && data["digest"].is_string(), "{data}");
        let id = data["metadata"]["artifactId"].as_str().unwrap();
        let kept = gatehouse_sdk::artifacts::read(id, &gatehouse_sdk::artifacts::Part::Whole).unwrap();
        assert_eq!(kept.text, rows, "the result is kept, without the envelope");
    });
}

#[test]
fn one_excluded_tool_among_several_leaves_the_reply() {
    host().run(|| {
        let reply = |called: &[&str]| {
            let call = gatehouse_sdk::Call {
                id: "call-1".into(),
                params: crate::Params::default(),
                caller: None,
                preset: "p".into(),
                deadline_ms: 5_000,
                meta: (!called.is_empty()).then(|| json!({"gatehouse/called": called}).to_string()),
            };
            let passing = gatehouse_sdk::OutgoingReply {
                origin: testing::origin("run_code"),
                arguments: "{}".into(),
                reply: Reply::markdown(lines(900)),
            };
            crate::filter::on_reply(&call, passing).unwrap()
        };
        assert!(reply(&[]).is_some() && reply(&["search", "list"]).is_some());
        assert!(reply(&["search", "fs__read_file"]).is_none());
    });
}

#[test]
fn arguments_are_stored_with_their_names_and_numbers() {
    host().run(|| {
        let long = "x".repeat(5_000);
        let arguments =
            json!({"repo": "tidepool", "page": 2, "labels": ["bug", "ui"], "of": {"n": null}, "code": long});
        let short =
            filtered_with(testing::origin("look"), &arguments, Reply::markdown(lines(5_000)), &json!({}));
        let id = head(&short.unwrap())["metadata"]["artifactId"].as_str().unwrap().to_owned();
        let summary = artifacts::info(&[id]).unwrap().remove(0).unwrap().summary.unwrap();
        let asked = summary.lines().find_map(|line| line.strip_prefix("asked: ")).unwrap();
        for named in ["repo tidepool", "page 2", "labels bug ui", "of n"] {
            assert!(asked.split(", ").any(|part| part == named), "{named}: {asked}");
        }
        assert!(asked.len() < 200 && summary.ends_with("method: extractive"), "{summary}");
    });
}
