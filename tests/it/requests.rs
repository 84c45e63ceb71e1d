//! The request envelope end to end: the tool `request`, the preset `gateway`, and `gatehouse request`.

mod always_json;
mod policies;
mod workflows;

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use crate::support::{Client, Place, Ran};

fn requested(client: &mut Client, sent: Value) -> Value {
    let result = client.call("request", sent);
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
}

fn place() -> Place {
    let place = Place::shipped();
    place.sample_wiki();
    assert_eq!(place.run(&["kg", "index", "wiki"]).code(), 0);
    place
}

#[test]
fn one_tool_runs_every_other() {
    let place = place();
    let mut client = Client::start(&place, "gateway");
    assert_eq!(client.tools(), ["request"]);
    let sent =
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"query": "retry", "top_k": 1}});
    let response = requested(&mut client, sent);
    assert_eq!(
        (&response["ok"], &response["meta"]["mcp_name"]),
        (&json!(true), &json!("idea")),
        "{response}"
    );
    assert!(response["result"]["data"].to_string().to_lowercase().contains("retry"), "{response}");
    let response = requested(&mut client, json!({"intent": "QUERY", "action": "kg_edit", "params": {}}));
    assert_eq!(response["error"]["type"], "PERMISSION", "{response}");
    let response = requested(&mut client, json!({"intent": "QUERY", "action": "wiki_idea_serch"}));
    assert!(
        response["error"]["suggestion"].as_str().is_some_and(|next| next.contains("wiki_idea_search")),
        "{response}"
    );
    let response = requested(
        &mut client,
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"qury": "x"}}),
    );
    assert_eq!(response["error"]["type"], "VALIDATION", "{response}");
    // A tool that is not listed can still be called by name.
    assert!(client.text("wiki_idea_search", json!({"query": "retry", "top_k": 1})).contains("etry"));
}

#[test]
fn an_edit_is_checked_rehearsed_and_names_its_file() {
    let place = place();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", presets.replace("wiki_roots = []", "wiki_roots = [\"wiki\"]"));
    let mut client = Client::start(&place, "gateway");
    let file = place.path("wiki").canonicalize().expect("the wiki").join("principles/Retry_With_Backoff.md");
    let before = std::fs::read_to_string(&file).expect("a page");
    let edit = |id: &str, dry_run: bool| {
        let updates = json!({"overview": "Wait, then try again."});
        json!({"intent": "MODIFY", "action": "kg_edit", "params": {"page_id": id, "updates": updates},
               "constraints": {"dry_run": dry_run}})
    };
    let response = requested(&mut client, edit("Principle/Retry_With_Backof", false));
    assert_eq!(response["error"]["type"], "VALIDATION", "{response}");
    let reason = response["error"]["message"].as_str().expect("a message");
    assert!(reason.contains("page_id") && reason.contains("get_wiki_page"), "{response}");
    assert!(
        response["error"]["suggestion"].as_str().is_some_and(|next| next.contains("Retry")),
        "{response}"
    );
    let response = requested(&mut client, edit("Principle/Retry_With_Backoff", true));
    assert_eq!(
        (&response["ok"], &response["result"]["data"]["dry_run"]),
        (&json!(true), &json!(true)),
        "{response}"
    );
    assert_eq!(response["result"]["affected_files"], json!([file]), "{response}");
    assert_eq!(std::fs::read_to_string(&file).expect("a page"), before, "a dry run changes nothing");
    let response = requested(&mut client, edit("Principle/Retry_With_Backoff", false));
    assert_eq!(
        (&response["ok"], &response["result"]["affected_files"]),
        (&json!(true), &json!([file])),
        "{response}"
    );
    assert!(std::fs::read_to_string(&file).expect("a page").contains("Wait, then try again."));

    let index = |dir: &str, dry_run: bool| json!({"intent": "MODIFY", "action": "kg_index", "params": {"wiki_dir": dir}, "constraints": {"dry_run": dry_run}});
    place.write("wiki/principles/New_Page.md", "# Principle: New Page\nNew words.\n");
    let wiki = place.path("wiki");
    let wiki = wiki.to_str().expect("UTF-8");
    for added in [1, 1] {
        let response = requested(&mut client, index(wiki, true));
        assert_eq!(response["result"]["data"]["added"], added, "a dry run stores nothing: {response}");
    }
    let response = requested(&mut client, index("wiki/nowhere", false));
    let reason = response["error"]["message"].as_str().expect("a message");
    assert!(reason.contains("the dry run failed") && response["error"]["type"] == "VALIDATION", "{response}");
    assert_eq!(requested(&mut client, index(wiki, false))["result"]["data"]["added"], 1);
    // The schema keywords of the precheck are hidden from clients.
    let listed = Client::start(&place, "merger").request("tools/list", json!({}));
    assert!(listed.to_string().contains("kg_edit") && !listed.to_string().contains("x-precheck"), "{listed}");
}

#[test]
fn a_request_can_do_no_more_than_its_preset() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n[gates.kg]\ngrants = [\"knowledge\"]\n\
        [presets.p]\ngates.kg = {}\ngates.proxy = { request = true }\ndeny = [\"kg_edit\"]\n\
        [presets.asked]\nextends = [\"p\"]\ngates.echo = {}\n[presets.asked.approve]\ntools = [\"echo\"]\n\
        [presets.bare]\ngates.echo = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["kg", "proxy", "echo"]);
    let mut client = Client::start(&place, "asked");
    let response = requested(&mut client, json!({"intent": "MODIFY", "action": "kg_edit", "params": {}}));
    assert!(
        response["error"]["message"]
            .as_str()
            .is_some_and(|reason| reason.contains("unknown action 'kg_edit'")),
        "{response}"
    );
    // A command cannot ask.
    let echo = json!({"intent": "QUERY", "action": "echo", "params": {"text": "hi"}});
    let (_, response) = from_stdin(&place, &echo.to_string(), &["--preset", "asked"]);
    assert_eq!(response["error"]["type"], "PERMISSION", "no user can approve it: {response}");
    assert!(
        response["error"]["message"].as_str().is_some_and(|reason| reason.contains("approv")),
        "{response}"
    );
}

#[test]
fn a_tool_that_takes_too_long_is_a_timeout() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n\
        [presets.p]\ngates.vices = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["vices", "proxy"]);
    let mut client = Client::start(&place, "p");
    let sent =
        json!({"intent": "EXECUTE", "action": "vice_sleep", "params": {}, "constraints": {"timeout_ms": 50}});
    let response = requested(&mut client, sent);
    assert_eq!(response["error"]["type"], "TIMEOUT", "{response}");
    let sent =
        json!({"intent": "EXECUTE", "action": "vice_loop", "params": {}, "constraints": {"timeout_ms": 300}});
    let response = requested(&mut client, sent);
    let message = response["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("stopped after 0."), "{response}");
}

fn from_stdin(place: &Place, text: &str, more: &[&str]) -> (i32, Value) {
    let mut command = place.command(&[&["request"], more].concat());
    let mut running = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gatehouse");
    running.stdin.take().expect("its input").write_all(text.as_bytes()).expect("sent");
    let ran = Ran(running.wait_with_output().expect("its end"));
    (ran.code(), serde_json::from_str(&ran.stdout()).unwrap_or_else(|_| panic!("{}", ran.stderr())))
}

#[test]
fn a_shell_gets_json_whatever_happens() {
    let place = place();
    let sent =
        json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"query": "retry", "top_k": 1}});
    place.write("r.json", sent.to_string());
    let ran = place.run(&["request", "--file", "r.json"]);
    let response: Value = ran.json();
    assert_eq!(
        (&response["ok"], &response["request"]["effect"]),
        (&json!(true), &json!("READ_ONLY")),
        "{response}"
    );
    for (text, more, reason) in [
        ("{", &[][..], "is not JSON"),
        ("[]", &[], "not a JSON object"),
        ("{}", &[], "intent is missing"),
        ("{}", &["--preset", "full"], "has no tool 'request'"),
        ("{}", &["--preset", "gatway"], "Did you mean 'gateway'?"),
        ("{}", &["--file", "nowhere.json"], "cannot be read from nowhere.json"),
    ] {
        let (code, response) = from_stdin(&place, text, more);
        assert_eq!(
            (code, &response["ok"], &response["error"]["type"]),
            (1, &json!(false), &json!("VALIDATION")),
            "{response}"
        );
        assert!(
            response["error"]["message"].as_str().is_some_and(|message| message.contains(reason)),
            "{response}"
        );
    }
}

#[test]
fn a_gate_whose_time_is_short_answers_all_the_same() {
    let presets = "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\nlimits = { time = \"2 s\" }\n\
        [presets.p]\ngates.vices = {}\ngates.proxy = { request = true }\n";
    let place = Place::with(presets, &["vices", "proxy"]);
    let mut client = Client::start(&place, "p");
    let response = requested(&mut client, json!({"intent": "EXECUTE", "action": "vice_sleep"}));
    assert_eq!(
        (&response["error"]["type"], &response["ok"]),
        (&json!("TIMEOUT"), &json!(false)),
        "{response}"
    );
}

#[test]
fn a_workflow_lets_requests_through_in_their_turn() {
    let work = tempfile::tempdir().expect("a folder");
    let root = work.path().canonicalize().expect("a path");
    let presets = format!(
        "[gates.proxy]\ngrants = [\"servers\", \"catalog\"]\n[presets.p]\ngates.echo = {{}}\n\
         gates.proxy = {{ request = true }}\n[[presets.p.workflow.refactor]]\nintents = [\"ANALYZE\"]\n\
         produces = \"analysis-done\"\nroots = [{root:?}]\n[[presets.p.workflow.refactor]]\nrequires = [\"analysis-done\"]\n\
         produces = \"execution-done\"\n"
    );
    let place = Place::with(&presets, &["echo", "proxy"]);
    let mut client = Client::start(&place, "p");
    let mut step = |intent: &str, tool: &str, root: &std::path::Path| {
        let context = json!({"project_root": root});
        let sent = json!({"intent": intent, "action": tool, "params": {"text": "hi"}, "context": context});
        requested(&mut client, sent)
    };
    let response = step("EXECUTE", "echo", &root);
    assert_eq!(
        (&response["error"]["type"], &response["request"]["intent"]),
        (&json!("PERMISSION"), &json!("EXECUTE")),
        "{response}"
    );
    assert!(
        response["error"]["message"]
            .as_str()
            .is_some_and(|reason| reason.contains(".refactor-analysis-done")),
        "{response}"
    );
    let response = step("ANALYZE", "nothing_of_the_kind", &root);
    assert_eq!(response["ok"], false, "{response}");
    assert!(!root.join(".refactor-analysis-done").exists(), "a failed call leaves no mark");
    let response = step("ANALYZE", "echo", &root);
    assert_eq!(
        (&response["ok"], &response["meta"]["marks"]),
        (&json!(true), &json!([".refactor-analysis-done"])),
        "{response}"
    );
    let response = step("EXECUTE", "echo", &root);
    assert_eq!(
        (&response["result"]["data"], &response["meta"]["marks"]),
        (&json!("hi"), &json!([".refactor-execution-done"]))
    );
    let response = step("ANALYZE", "echo", std::path::Path::new("/"));
    assert!(
        response["error"]["message"]
            .as_str()
            .is_some_and(|reason| reason.contains("not in any root of the workflow")),
        "{response}"
    );
    let reason = place.run(&["explain", "request", "--preset", "p"]).stdout();
    assert!(
        reason.contains("calls of intent MODIFY or EXECUTE need .refactor-analysis-done and leave .refactor-execution-done"),
        "{reason}"
    );
    let (code, response) =
        from_stdin(&place, "{\"intent\": \"MODIFY\", \"action\": \"echo\"}", &["--preset", "p"]);
    assert_eq!(
        (code, &response["error"]["suggestion"]),
        (
            1,
            &json!(
                "Set context.project_root in the request, or project = \"DIR\" under [presets.p] in presets.toml."
            )
        ),
        "{response}"
    );
}
