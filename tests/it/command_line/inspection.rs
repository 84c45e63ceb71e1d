//! `gatehouse gates` and `gatehouse presets`, without a running host.

use serde_json::{Value, json};

use super::run;
use crate::support::{Place, SHIPPED};

fn names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|item| item["name"].as_str().expect("a name")).collect()
}

#[test]
fn gates_list_shows_each_gate_with_its_tools() {
    let place = Place::shipped();
    let text = run(&place, 0, &["gates", "list"]).stdout();
    assert!(text.starts_with("GATE "), "{text}");
    for (gate, tool, grant) in [
        ("code", "wiki_code_search", "knowledge:read, models"),
        ("idea", "wiki_idea_search", "knowledge:read, models"),
        ("kg", "kg_edit", "knowledge"),
        ("research", "research_study", "models"),
    ] {
        let line =
            text.lines().find(|line| line.starts_with(gate)).unwrap_or_else(|| panic!("{gate}: {text}"));
        assert!(line.contains(tool) && line.contains(grant), "{line}");
    }
    let gates = run(&place, 0, &["gates", "list", "--json"]).json();
    assert_eq!(names(&gates), SHIPPED);
    assert_eq!(names(&gates[0]["tools"]), ["wiki_code_search"]);
}

#[test]
fn gates_list_names_the_broken_gate_and_shows_the_others() {
    let place = Place::with("[presets.full]\n", &["idea"]);
    place.write("gates/bad.wasm", "garbage");
    let ran = run(&place, 1, &["gates", "list"]);
    assert!(
        ran.stdout().contains("bad.wasm") && ran.stdout().contains("wiki_idea_search"),
        "{}",
        ran.stdout()
    );
    let ran = run(&place, 1, &["gates", "list", "--json"]);
    let gates: Value = serde_json::from_str(&ran.stdout()).expect("JSON despite the broken gate");
    assert_eq!(names(&gates), ["bad", "idea"]);
    assert!(
        gates[0]["error"].as_str().is_some_and(|reason| reason.contains("is not WebAssembly")),
        "{gates}"
    );
}

#[test]
fn gates_inspect_shows_what_a_gate_asks_for_and_what_it_gets() {
    let place = Place::shipped();
    let gate = run(&place, 0, &["gates", "inspect", "idea", "--json"]).json();
    assert_eq!(gate["granted"], json!(["knowledge:read", "models"]));
    assert!(gate["asks"].as_array().is_some_and(|asks| asks.contains(&"knowledge".into())), "{gate}");
    assert_eq!(gate["not_granted"], json!([]));
    assert_eq!(gate["sha256"].as_str().map(str::len), Some(64));
    assert_eq!(gate["params"]["properties"]["top_k"]["default"], 5);
    assert_eq!(gate["tools"][0]["effect"], "read-only");
    let text = run(&place, 0, &["gates", "inspect", "idea"]).stdout();
    assert!(
        text.contains("asks for") && text.contains("top_k = 5") && text.contains("wiki_idea_search"),
        "{text}"
    );
}

#[test]
fn gates_inspect_names_the_grant_that_is_missing_and_where_to_add_it() {
    let place = Place::with("[presets.full]\n", &["idea"]);
    let gate = run(&place, 0, &["gates", "inspect", "gates/idea.wasm", "--json"]).json();
    assert_eq!(gate["not_granted"], json!(["knowledge", "models"]));
    let text = run(&place, 0, &["gates", "inspect", "idea"]).stdout();
    assert!(text.contains("not granted  knowledge, models (add it to grants under [gates.idea]"), "{text}");
}

#[test]
fn gates_inspect_of_an_unknown_gate_names_what_there_is() {
    let stderr = run(&Place::shipped(), 1, &["gates", "inspect", "ideas"]).stderr();
    assert!(stderr.contains("unknown gate 'ideas'") && stderr.contains("Did you mean 'idea'?"), "{stderr}");
    assert!(
        stderr.contains(
            "There are: code, converter, document-retrieval, idea, kg, proxy, research, script, summarizer."
        ),
        "{stderr}"
    );
}

#[test]
fn presets_list_shows_the_shipped_ones() {
    let place = Place::shipped();
    let presets = run(&place, 0, &["presets", "list", "--json"]).json();
    assert_eq!(
        names(&presets),
        ["code", "context", "documents", "full", "gateway", "ideation", "implementation", "merger", "proxy"]
    );
    let default = presets.as_array().expect("a list").iter().filter(|preset| preset["default"] == true);
    assert_eq!(default.map(|preset| &preset["name"]).collect::<Vec<_>>(), ["full"]);
    let text = run(&place, 0, &["presets", "list"]).stdout();
    assert!(text.contains("full (default)") && text.contains("kg, idea, code, research"), "{text}");
}

#[test]
fn presets_show_tells_what_a_preset_compiles_to() {
    let place = Place::shipped();
    let preset = run(&place, 0, &["presets", "show", "context", "--json"]).json();
    let gates = json!({"idea": {"top_k": 5, "use_llm_reranker": false}, "code": {"top_k": 5, "include_content": false}});
    assert_eq!(preset["gates"], gates);
    assert_eq!(names(&preset["tools"]), ["wiki_idea_search", "wiki_code_search"]);
    let text = run(&place, 0, &["presets", "show", "context"]).stdout();
    assert!(text.contains("wiki_code_search (code, read-only)"), "{text}");
    let stderr = run(&place, 2, &["presets", "show", "contex"]).stderr();
    assert!(stderr.contains("Did you mean 'context'?"), "{stderr}");
}

#[test]
fn presets_check_passes_what_can_be_served_and_names_what_cannot() {
    let place = Place::shipped();
    let text = run(&place, 0, &["presets", "check"]).stdout();
    assert_eq!(text.lines().filter(|line| line.starts_with("ok ")).count(), 9, "{text}");
    let place =
        Place::with("[presets.good]\ngates.idea = {}\n[presets.bad]\ngates.weather = {}\n", &["idea"]);
    let ran = run(&place, 1, &["presets", "check"]);
    assert!(
        ran.stdout().contains("ok      good: 1 tools") && ran.stdout().contains("broken  bad: "),
        "{}",
        ran.stdout()
    );
    assert!(ran.stderr().contains("1 of 2 presets cannot be served"), "{}", ran.stderr());
    let report: Value =
        serde_json::from_str(&run(&place, 1, &["presets", "check", "--json"]).stdout()).expect("JSON");
    assert_eq!((&report[0]["preset"], &report[0]["ok"]), (&"bad".into(), &false.into()));
    assert!(
        report[0]["error"].as_str().is_some_and(|reason| reason.contains("unknown gate 'weather'")),
        "{report}"
    );
    let warnings = report[1]["warnings"].clone();
    assert_eq!(report[1], json!({"preset": "good", "ok": true, "tools": 1, "warnings": warnings}));
}

#[test]
fn presets_check_warns_of_gates_without_grants_and_names_the_line_to_add() {
    let presets = "[presets.good]\ngates.idea = {}\n";
    let place = Place::with(presets, &["idea"]);
    let text = run(&place, 0, &["presets", "check"]).stdout();
    let warning = "presets.toml:2:7: preset 'good': gate 'idea' is granted nothing that it asks for";
    let line = "write grants = [\"knowledge\", \"models\"] under [gates.idea] in presets.toml";
    let warning_line = text.lines().find(|line| line.starts_with("warning ")).expect("a warning");
    assert!(warning_line.contains(warning) && warning_line.ends_with(line), "{text}");
    // Some grants are a choice.
    place.write("presets.toml", format!("{presets}[gates.idea]\ngrants = [\"models\"]\n"));
    let report = run(&place, 0, &["presets", "check", "--json"]).json();
    assert_eq!(report[0], json!({"preset": "good", "ok": true, "tools": 1}));
    let shipped = run(&Place::shipped(), 0, &["presets", "check"]).stdout();
    assert!(!shipped.contains("granted nothing"), "{shipped}");
}

#[test]
fn presets_check_warns_of_names_that_model_providers_refuse() {
    let presets = "[presets.p]\ngates.echo = { prefix = \"a.\" }\n[presets.plain]\ngates.echo = {}\n";
    let place = Place::with(presets, &["echo"]);
    let text = run(&place, 0, &["presets", "check"]).stdout();
    assert!(
        text.contains(
            "ok      p: 2 tools\nwarning p: the name 'a.echo' is refused by Anthropic, OpenAI and Gemini"
        ),
        "{text}"
    );
    assert!(!text.contains("warning plain"), "{text}");
    let report = run(&place, 0, &["presets", "check", "--json"]).json();
    assert_eq!(report[0]["warnings"].as_array().map(Vec::len), Some(2), "{report}");
}

#[test]
fn presets_cost_counts_every_tool_of_every_preset() {
    let place = Place::shipped();
    let report = run(&place, 0, &["presets", "cost", "--json"]).json();
    let cost = |name: &str| {
        let presets = report.as_array().expect("a list");
        presets.iter().find(|preset| preset["preset"] == name).expect("the preset").clone()
    };
    let full = cost("full");
    assert_eq!(full["tools"].as_array().map(Vec::len), Some(13), "{full}");
    let each =
        full["tools"].as_array().expect("tools").iter().map(|tool| tool["tokens"].as_u64().expect("a count"));
    let each: Vec<u64> = each.collect();
    assert!(each.iter().all(|tokens| *tokens > 20), "{full}");
    let total = full["tokens"].as_u64().expect("a count");
    let sum: u64 = each.iter().sum();
    assert!(total.abs_diff(sum) <= 2 * each.len() as u64, "the total includes brackets and commas: {full}");
    assert!(cost("context")["tokens"].as_u64().expect("a count") < total);
    let text = run(&place, 0, &["presets", "cost"]).stdout();
    assert!(text.contains(&format!("full: {total} tokens")), "{text}");
    // Sorted by cost, so the first bar is the longest.
    let bars: Vec<usize> =
        text.lines().take_while(|line| !line.is_empty()).map(|line| line.matches('█').count()).collect();
    assert!(text.starts_with("full ") && bars.len() == 9 && bars[0] == 24, "{text}");
    assert!(bars.is_sorted_by(|a, b| a >= b), "{text}");
}
