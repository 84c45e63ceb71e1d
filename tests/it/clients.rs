//! The Python SDK and the inspector list and call every tool of every preset, over stdio and HTTP.
//!
//! `cargo xtask test` installs them; without them these tests report that they are skipped.

use std::{env, path::PathBuf, process::Command};

use serde_json::{Value, json};

use crate::support::{Http, Place, installed, place::binary};

const PRESETS: [&str; 6] = ["merger", "ideation", "implementation", "context", "documents", "full"];

fn indexed() -> Place {
    let place = Place::shipped();
    let wiki = place.sample_wiki();
    let wiki = wiki.display().to_string();
    place.run(&["kg", "index", &wiki, "--json"]).json();
    place.run(&["docs", "add", &wiki, "--name", "wiki", "--json"]).json();
    place
}

fn calls() -> Value {
    json!({
        "search_knowledge": {"query": "circuit breaker", "top_k": 2},
        "get_wiki_page": {"page_title": "Principle/Circuit_Breaking"},
        "kg_index": {"page_data": {"page_title": "From a client", "page_type": "Heuristic", "overview": "o", "content": "c"}},
        "kg_edit": {"page_id": "Heuristic/From_a_client", "updates": {"overview": "edited"}},
        "get_page_structure": {"page_type": "principle"},
        "wiki_idea_search": {"query": "retries"},
        "wiki_code_search": {"query": "retries"},
        "list_repositories_with_navigation": {},
        "mfai_document_retrieval": {"query": "circuit breaker", "repository": "wiki", "search_type": "text"},
        "read_repository_file": {"repository": "wiki", "path": "principles/Circuit_Breaking.md"},
    })
}

fn all_calls() -> Value {
    let mut calls = calls();
    for tool in ["research_idea", "research_implementation", "research_study"] {
        calls[tool] = json!({"query": "retries", "depth": "light"});
    }
    calls
}

/// Variables that would configure a language model; these tests need none.
const KEYS: [&str; 4] = ["OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "OLLAMA_HOST"];

const PYTHON_CLIENT: &str = r#"
import asyncio, json, sys
from mcp import Client, StdioServerParameters, stdio_client

async def main():
    target, calls = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    server = target["url"] if "url" in target else stdio_client(StdioServerParameters(**target))
    async with Client(server) as client:
        report = {}
        listed = (await client.list_tools()).tools
        order = [name for name in calls if name in {tool.name for tool in listed}]
        assert len(order) == len(listed), [tool.name for tool in listed]
        for name in order:
            result = await client.call_tool(name, calls[name])
            report[name] = [bool(result.is_error), result.content[0].text]
        print(json.dumps(report))

asyncio.run(main())
"#;

fn python(place: &Place, target: &Value) -> Option<Value> {
    let python = installed("GATEHOUSE_TEST_PYTHON")?;
    let script = place.write("client.py", PYTHON_CLIENT);
    let mut command = Command::new(python);
    command.arg(script).arg(target.to_string()).arg(all_calls().to_string());
    for key in KEYS {
        command.env_remove(key);
    }
    let ran = command.output().expect("run python");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).expect("JSON"))
}

fn all_worked(report: &Value, preset: &str) {
    let tools = report.as_object().expect("tools");
    assert!(!tools.is_empty());
    for (tool, reply) in tools {
        let lacks = match tool.as_str() {
            tool if tool.starts_with("research_") => Some("OPENAI_API_KEY"),
            _ => None,
        };
        assert_eq!(reply[0], lacks.is_some(), "{preset}: {tool}: {reply}");
        if let Some(lacks) = lacks {
            assert!(reply[1].as_str().is_some_and(|text| text.contains(lacks)), "{tool}: {reply}");
        }
    }
}

#[test]
fn python_calls_every_tool_over_stdio() {
    for preset in PRESETS {
        let place = indexed();
        let target = json!({
            "command": binary(),
            "args": ["serve", "--preset", preset, "--config", place.path("presets.toml")],
            "env": {"GATEHOUSE_STATE": place.path("state")},
        });
        let Some(report) = python(&place, &target) else { return };
        all_worked(&report, preset);
    }
}

#[test]
fn python_calls_every_tool_over_http() {
    let place = indexed();
    let host = Http::start(&place, "full", &[]);
    for preset in PRESETS {
        let Some(report) = python(&place, &json!({"url": format!("{}/mcp/p/{preset}", host.base)})) else {
            return;
        };
        all_worked(&report, preset);
    }
}

/// Runs the inspector's CLI in the place, so that the host finds its configuration there: the inspector parses
/// `--config` itself.
fn inspector(place: &Place, arguments: &[String]) -> Option<Value> {
    let (node, script) = (installed("GATEHOUSE_TEST_NODE")?, installed("GATEHOUSE_TEST_INSPECTOR")?);
    let folders = env::join_paths(
        node.parent()
            .map(PathBuf::from)
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let ran = Command::new(&node)
        .arg(script)
        .arg("--cli")
        .args(arguments)
        .current_dir(place.folder.path())
        .env("PATH", folders.expect("a path"))
        .output()
        .expect("run the inspector");
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{arguments:?}\n{stdout}\n{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("JSON: {stdout}")))
}

fn inspect_every_tool(place: &Place, target: &[String]) {
    let run = |rest: &[&str]| {
        let arguments: Vec<String> =
            target.iter().cloned().chain(rest.iter().map(|part| (*part).to_owned())).collect();
        inspector(place, &arguments)
    };
    let Some(listed) = run(&["--method", "tools/list", "--strict"]) else { return };
    let tools: Vec<&str> =
        listed["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(tools.len(), 13, "{listed}");
    for (tool, arguments) in calls().as_object().expect("calls") {
        let mut rest = vec!["--method", "tools/call", "--tool-name", tool];
        let given: Vec<String> = arguments
            .as_object()
            .expect("arguments")
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => format!("{name}={text}"),
                other => format!("{name}={other}"),
            })
            .collect();
        for argument in &given {
            rest.extend(["--tool-arg", argument]);
        }
        let result = run(&rest).expect("installed");
        assert_ne!(result["isError"], true, "{tool}: {result}");
    }
}

#[test]
fn the_inspector_calls_every_tool_over_http() {
    let place = indexed();
    let host = Http::start(&place, "full", &[]);
    inspect_every_tool(&place, &[format!("{}/mcp", host.base), "--transport".into(), "http".into()]);
}

#[test]
fn the_inspector_calls_every_tool_over_stdio() {
    let place = indexed();
    // Passed as a variable because the inspector parses `--config` itself.
    let environment = [
        "-e".to_owned(),
        format!("GATEHOUSE_STATE={}", place.path("state").display()),
        "-e".to_owned(),
        format!("GATEHOUSE_CONFIG={}", place.path("presets.toml").display()),
    ];
    let line = [binary().display().to_string(), "serve".to_owned()];
    inspect_every_tool(&place, &[&environment[..], &line[..]].concat());
}

#[test]
fn the_inspector_has_no_complaint_about_any_preset() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    for preset in PRESETS.into_iter().chain(["proxy"]) {
        let url = format!("{}/mcp/p/{preset}", host.base);
        let line = [&url, "--transport", "http", "--method", "tools/list", "--strict"].map(str::to_owned);
        let Some(listed) = inspector(&place, &line) else { return };
        assert!(listed["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{preset}: {listed}");
    }
}
