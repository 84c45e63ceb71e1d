//! Client libraries and agents list tools, show a result and show an error, over stdio and HTTP.
//!
//! The programs are in `tests/clients`; `cargo xtask test` installs their libraries.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::support::{Http, Place, installed, place::binary, repository};

/// A client: the variable with the folder of its packages, and the program to run.
pub(crate) struct Kind {
    pub(crate) variable: &'static str,
    pub(crate) program: Program,
}

pub(crate) enum Program {
    /// Script in `tests/clients`, run by the environment's Python.
    Python(&'static str),
    /// Script in `tests/clients`, copied next to the packages.
    Node(&'static str),
    Remote,
    Agent(&'static str, &'static str),
}
use Program::{Agent, Node, Python, Remote};

const TOOLS: [&str; 5] = ["get_page_structure", "get_wiki_page", "kg_edit", "kg_index", "search_knowledge"];

fn lists_calls_and_shows_a_fault(kind: &Kind) {
    let Some(packages) = installed(kind.variable) else { return };
    let place = Place::shipped();
    let host = Http::start(&place, "merger", &[]);
    let stdio = json!({
        "command": binary(),
        "args": ["serve", "--preset", "merger", "--config", place.path("presets.toml")],
        // An agent sets its own home, which has no compiled gates.
        "env": {
            "GATEHOUSE_STATE": place.path("state"),
            "XDG_CACHE_HOME": place.path(".cache"),
            "PATH": env::var("PATH").expect("PATH"),
        },
    });
    let over_http = json!({"url": format!("{}/mcp", host.base)});
    let targets = match kind.program {
        Remote => vec![(over_http, "mcp-remote")],
        _ => vec![(over_http, "HTTP"), (stdio, "stdio")],
    };
    for (target, transport) in targets {
        let report = run(kind, &packages, &place, &target);
        let mut tools: Vec<&str> =
            report["tools"].as_array().expect("tools").iter().filter_map(Value::as_str).collect();
        tools.sort_unstable();
        assert_eq!(tools, TOOLS, "{transport}");
        let shown = |what: &str| report[what].as_str().expect("a text").to_owned();
        assert!(shown("text").contains("# How to write a page of type Principle"), "{transport}: {report}");
        let fault = shown("fault");
        assert!(fault.contains("Page not found: 'No_Such_Page'"), "{transport}: {fault}");
    }
}

/// Runs a client and parses the last line of its output as JSON.
pub(crate) fn run(kind: &Kind, packages: &Path, place: &Place, target: &Value) -> Value {
    let scripts = repository().join("tests/clients");
    let mut command = match kind.program {
        Python(script) => {
            let mut command = Command::new(packages.join("bin/python"));
            command.arg(scripts.join(script)).arg(target.to_string());
            command
        }
        Node(script) => node(place, packages, script, target),
        Remote => {
            let proxy = packages.join("node_modules/mcp-remote/dist/proxy.js");
            let through = json!({
                "command": node_program(),
                "args": [proxy, target["url"], "--allow-http", "--transport", "http-only"],
                "env": {"HOME": place.path(""), "PATH": env::var("PATH").expect("PATH")},
            });
            node(place, packages, "typescript2.mjs", &through)
        }
        Agent(agent, program) => {
            let mut command = Command::new(node_program());
            command.arg(scripts.join("agent.mjs")).arg(target.to_string()).arg(agent);
            command.arg(node_program()).arg(packages.join("node_modules").join(program));
            command
        }
    };
    let folder = node_program().parent().map(Path::to_owned).into_iter();
    let path = env::join_paths(folder.chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())));
    let ran = command.env("PATH", path.expect("a path")).output().expect("run the client");
    let (stdout, stderr) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{stdout}\n{stderr}");
    let last = stdout.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
}

/// Node searches for packages next to the script, so copy the script next to a link to them.
fn node(place: &Place, packages: &Path, script: &str, target: &Value) -> Command {
    let text = fs::read_to_string(repository().join("tests/clients").join(script)).expect("the script");
    let copy = place.write(script, &text);
    let link = place.path("node_modules");
    if !link.exists() {
        std::os::unix::fs::symlink(packages.join("node_modules"), link).expect("a link");
    }
    let mut command = Command::new(node_program());
    command.arg(copy).arg(target.to_string());
    command
}

fn node_program() -> PathBuf {
    installed("GATEHOUSE_TEST_NODE").unwrap_or_else(|| "node".into())
}

macro_rules! clients {
    ($($name:ident: $variable:literal, $program:expr;)*) => {
        $(
            #[test]
            fn $name() {
                lists_calls_and_shows_a_fault(&Kind { variable: $variable, program: $program });
            }
        )*
    };
}

clients! {
    python_1: "GATEHOUSE_TEST_PYTHON_1", Python("mcp1.py");
    python_2: "GATEHOUSE_TEST_PYTHON_2", Python("mcp2.py");
    fastmcp: "GATEHOUSE_TEST_FASTMCP", Python("fastmcp.py");
    langchain: "GATEHOUSE_TEST_LANGCHAIN", Python("langchain.py");
    openai_agents: "GATEHOUSE_TEST_OPENAI_AGENTS", Python("openai_agents.py");
    pydantic_ai: "GATEHOUSE_TEST_PYDANTIC_AI", Python("pydantic_ai.py");
    typescript_1_23: "GATEHOUSE_TEST_TYPESCRIPT_1_23", Node("typescript1.mjs");
    typescript_1_32: "GATEHOUSE_TEST_TYPESCRIPT_1_32", Node("typescript1.mjs");
    typescript_2: "GATEHOUSE_TEST_TYPESCRIPT_2", Node("typescript2.mjs");
    ai_sdk: "GATEHOUSE_TEST_TYPESCRIPT_2", Node("ai_sdk.mjs");
    mcp_remote: "GATEHOUSE_TEST_TYPESCRIPT_2", Remote;
    mastra: "GATEHOUSE_TEST_MASTRA", Node("mastra.mjs");
    claude_code: "GATEHOUSE_TEST_AGENTS", Agent("claude", "@anthropic-ai/claude-code/cli-wrapper.cjs");
    codex: "GATEHOUSE_TEST_AGENTS", Agent("codex", "@openai/codex/bin/codex.js");
    gemini_cli: "GATEHOUSE_TEST_AGENTS", Agent("gemini", "@google/gemini-cli/bundle/gemini.js");
}
