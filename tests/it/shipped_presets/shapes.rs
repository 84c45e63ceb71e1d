//! Replies in the shapes that servers give them, through the shipped presets: what was asked for is in the reply, or one
//! call away by line or filter.

use serde_json::{Value, json};

use crate::support::{Client, Place};

/// A reply of a server, and how an agent gets one value of it.
struct Shape {
    tool: &'static str,
    reply: Value,
    /// True for the content of a file.
    is_exact: bool,
    /// A part of the stored result, if the reply does not have it.
    part: Value,
    value: &'static str,
}

fn rows() -> Vec<Value> {
    let note = |n: usize| if n == 311 { "refund requested" } else { "nothing to say about this one" };
    (0..400).map(|n| json!({"id": n, "email": format!("user{n}@example.org"), "note": note(n)})).collect()
}

fn text(text: impl Into<String>) -> Value {
    json!([{"type": "text", "text": text.into()}])
}

fn shapes() -> Vec<Shape> {
    let rows = rows();
    let list = json!(rows).to_string();
    let file: String = (1..=220).map(|n| format!("    let value_{n} = compute({n}); // keep\n")).collect();
    let report: String = (1..=160)
        .map(|n| format!("The team of region {n} met on day {n} and agreed on plan {}.\n", n * 7))
        .collect();
    let blocks: Vec<Value> =
        rows.iter().map(|row| json!({"type": "text", "text": row.to_string()})).collect();
    let odd = ".[] | select(.note == \"refund requested\") | .email";
    let shape = |tool, reply, part, value| Shape { tool, reply, is_exact: false, part, value };
    vec![
        Shape {
            is_exact: true,
            ..shape(
                "read_text_file",
                json!({"content": text(file.clone()), "structuredContent": {"content": file}}),
                Value::Null,
                "let value_117 = compute(117); // keep",
            )
        },
        shape(
            "text_of_sdk",
            json!({"content": text(report.clone()), "structuredContent": {"result": report}}),
            json!({"find": "plan 819"}),
            "region 117 met on day 117",
        ),
        shape(
            "rows_of_sdk",
            json!({"content": blocks, "structuredContent": {"result": rows}}),
            json!({"jq": odd}),
            "user311@example.org",
        ),
        shape(
            "data_beside_a_sentence",
            json!({"content": text("Found 400 users."), "structuredContent": {"users": rows}}),
            json!({"jq": format!(".users | {odd}")}),
            "user311@example.org",
        ),
        shape(
            "json_after_a_sentence",
            json!({"content": text(format!("Here are the users (see [1]):\n{list}\nAsk for more."))}),
            json!({"jq": odd}),
            "user311@example.org",
        ),
        shape(
            "json_in_a_string",
            json!({"content": text(json!({"result": format!("<rows>\n{list}\n</rows>")}).to_string())}),
            json!({"jq": odd}),
            "user311@example.org",
        ),
        shape(
            "one_integer",
            json!({"content": text("{\"wei\":115792089237316195423570985008687907853}")}),
            Value::Null,
            "115792089237316195423570985008687907853",
        ),
    ]
}

fn all_text(reply: &Value) -> String {
    let blocks = reply["content"].as_array().expect("blocks").iter();
    blocks.filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn place() -> Place {
    let place = Place::shipped();
    let tool = |shape: &Shape| {
        json!({"name": shape.tool, "description": "Looks it up.", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object", "properties": {"topic": {"type": "string"}}}, "reply": shape.reply})
    };
    let tools: Vec<Value> = shapes().iter().map(tool).collect();
    let file = place.write("tools.json", json!(tools).to_string());
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let arguments = ["stdio".to_owned(), format!("tools={}", file.display())];
    place.write(
        "presets.toml",
        format!("{presets}\n[servers.s]\ncommand = {server:?}\nargs = {arguments:?}\n"),
    );
    place
}

#[test]
fn what_was_asked_for_is_in_the_reply_or_one_call_away() {
    type Arguments = fn(&str) -> Value;
    let ways: [(&str, &str, Arguments); 4] = [
        ("proxy", "call_tool", |tool| json!({"server": "s", "tool": tool})),
        ("code", "call_tool", |tool| json!({"server": "s", "tool": tool})),
        (
            "code",
            "run_code",
            |tool| json!({"code": format!("return await callMCPTool('s', '{tool}', {{}})")}),
        ),
        (
            "gateway",
            "request",
            |tool| json!({"intent": "QUERY", "action": format!("s/{tool}"), "params": {}}),
        ),
    ];
    let place = place();
    for (preset, way, arguments) in ways {
        let mut client = Client::start(&place, preset);
        for shape in shapes() {
            let Shape { tool, is_exact, part, value, .. } = shape;
            // A script returns data of structured content, so a wrapper stays around a file.
            if way == "run_code" && is_exact {
                continue;
            }
            let reply = all_text(&client.call(way, arguments(tool)));
            if reply.contains(value) {
                continue;
            }
            assert!(!is_exact && !part.is_null(), "{preset} {way} {tool}: {reply:.1500}");
            let at = reply.find("art-").unwrap_or_else(|| panic!("{preset} {way} {tool}: {reply:.1500}"));
            let mut part = part;
            // A script and a request give the wrapper as the server declared it.
            part["path"] = reply[at..at + 16].into();
            let called = match preset {
                "gateway" => {
                    assert!(
                        reply.contains("stored: request {"),
                        "the note names a tool of this client: {reply:.600}"
                    );
                    let request = json!({"intent": "QUERY", "action": "get_workspace_file", "params": part});
                    client.call("request", request)
                }
                _ => client.call("get_workspace_file", part),
            };
            assert!(all_text(&called).contains(value), "{preset} {way} {tool}: {called:.1500}");
        }
    }
}

#[test]
fn a_client_that_reads_no_data_gets_rows_that_no_text_has() {
    let place = place();
    let listed = place.run(&["servers", "refresh"]);
    assert_eq!(listed.code(), 0, "{}", listed.stderr());
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", format!("{presets}\n[presets.bare]\nservers = [\"s\"]\n[presets.data]\nextends = [\"bare\"]\nstructured = true\n"));
    let mut bare = Client::start(&place, "bare");
    let reply = bare.call("s__data_beside_a_sentence", json!({}));
    assert!(
        reply.get("structuredContent").is_none() && all_text(&reply).contains("user311@example.org"),
        "{reply:.300}"
    );
    assert_eq!(reply["content"][0]["text"], "Found 400 users.");
    let repeated = bare.call("s__rows_of_sdk", json!({}));
    assert_eq!(repeated["content"].as_array().map(Vec::len), Some(400), "the text says it already");
    let mut data = Client::start(&place, "data");
    let reply = data.call("s__data_beside_a_sentence", json!({}));
    assert_eq!(reply["content"].as_array().map(Vec::len), Some(1), "as the server sent it");
    assert_eq!(reply["structuredContent"]["users"][311]["id"], 311);
    assert!(reply.get("_meta").is_none(), "the mark of the host is not sent: {reply:.300}");
}

#[test]
fn numbers_keep_their_digits_in_both_directions() {
    let place = place();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets.toml");
    place.write("presets.toml", format!("{presets}\n[presets.data]\nextends = [\"proxy\"]\nservers = [\"s\"]\nfilters.summarizer = []\nstructured = true\n"));
    let digits = r#"{"balance":340282366920938463463374607431768211457,"rate":0.30000000000000000000000000001,"e":1.50}"#;
    let data: Value = serde_json::from_str(digits).expect("JSON");
    // The server answers with the reply in its arguments.
    let reply = json!({"content": text("balances"), "structuredContent": data});
    let mut client = Client::start(&place, "data");
    let direct = client.call("s__rows_of_sdk", json!({ "reply": reply }));
    assert_eq!(direct["structuredContent"].to_string(), digits);
    let call = json!({"server": "s", "tool": "rows_of_sdk", "arguments": {"reply": reply}});
    let forwarded = client.call("call_tool", call);
    assert!(forwarded.to_string().contains("340282366920938463463374607431768211457"), "{forwarded}");
    assert!(forwarded.to_string().contains("0.30000000000000000000000000001"), "{forwarded}");
}

#[test]
fn a_question_is_answered_from_the_whole_stored_result() {
    let place = place();
    let mut client = Client::start(&place, "code");
    let reply = all_text(&client.call("call_tool", json!({"server": "s", "tool": "rows_of_sdk"})));
    let at = reply.find("art-").unwrap_or_else(|| panic!("{reply:.1500}"));
    let question = json!({"path": &reply[at..at + 16], "question": "who has a refund requested?"});
    let answer = all_text(&client.call("get_workspace_file", question));
    assert!(answer.contains("user311@example.org"), "{answer}");
}
