//! Nothing that a caller can ask for names what access rules hide from it: random rules over a server's tools, prompts
//! and resources.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Person, key};
use crate::support::{Http, Place, server::serve_answers};

/// Words that occur in one tool each, in its name and description. Every second tool only reads.
const WORDS: [&str; 6] = ["amber", "basalt", "cobalt", "dahlia", "ebony", "fjord"];

/// A word of the server's prompt, of its resource, and of nothing.
const PROMPT: &str = "granite";
const RESOURCE: &str = "harbor";
const NOTHING: &str = "zephyr";

#[derive(Debug, Clone)]
struct Rules {
    allowed: Vec<&'static str>,
    denied: Vec<&'static str>,
    reads_only: bool,
    by_source: bool,
    prompts: bool,
    resources: bool,
}

impl Rules {
    fn shows(&self, word: &str) -> bool {
        match word {
            PROMPT => self.prompts,
            RESOURCE => self.resources,
            _ => {
                let reads = WORDS.iter().position(|known| *known == word).is_some_and(reads);
                self.allowed.contains(&word) && !self.denied.contains(&word) && (reads || !self.reads_only)
            }
        }
    }

    fn blocks(&self) -> String {
        let names = |words: &[&str]| -> Vec<String> {
            let start = if self.by_source { "server:many." } else { "many__" };
            words.iter().map(|word| format!("{start}{word}_find")).collect()
        };
        let offers = [(self.prompts, "many.prompts"), (self.resources, "many.resources")];
        let offers: Vec<String> =
            offers.iter().filter(|(shown, _)| *shown).map(|(_, name)| (*name).to_owned()).collect();
        let effect = if self.reads_only { "effect = \"read-only\"\n" } else { "" };
        let rule = |tools: &[String], more: &str| match tools {
            // A rule must allow something.
            [] => String::new(),
            tools => format!("[[access]]\nwho = [\"key:ann\"]\ntools = {tools:?}\n{more}"),
        };
        let gates = ["gate:proxy.*".to_owned(), "gate:script.*".to_owned()];
        let denied = format!("deny = {:?}\n", names(&self.denied));
        format!(
            "{}{}{}[[access]]\nwho = [\"key:root\"]\ntools = [\"*\"]\n",
            rule(&gates, &denied),
            rule(&names(&self.allowed), effect),
            rule(&offers, ""),
        )
    }
}

fn reads(index: usize) -> bool {
    index.is_multiple_of(2)
}

fn rules() -> impl Strategy<Value = Rules> {
    let subset = || proptest::sample::subsequence(WORDS.to_vec(), 0..=WORDS.len());
    (subset(), proptest::sample::subsequence(WORDS.to_vec(), 0..=2), any::<[bool; 4]>()).prop_map(
        |(allowed, denied, [reads_only, by_source, prompts, resources])| Rules {
            allowed,
            denied,
            reads_only,
            by_source,
            prompts,
            resources,
        },
    )
}

/// Serves MCP with the tools, the prompt and the resource. Returns its address.
fn server() -> String {
    let address = serve_answers(|seen| {
        let is_message = seen.method == "POST";
        let (status, body) = match is_message.then(|| answer(&seen.body)) {
            Some(Some(answer)) => (200, answer.to_string()),
            Some(None) => (202, String::new()),
            None => (405, String::new()),
        };
        (status, "content-type: application/json\r\n".into(), body)
    });
    format!("http://{address}/mcp")
}

/// Returns the answer to a message. `None` for a notification.
fn answer(body: &[u8]) -> Option<Value> {
    let message: Value = serde_json::from_slice(body).expect("JSON");
    message.get("id")?;
    let uri = format!("many://{RESOURCE}");
    let result = match message["method"].as_str().expect("a method") {
        "initialize" => json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}, "prompts": {}, "resources": {}},
            "serverInfo": {"name": "many", "version": "1"},
            "instructions": format!("Begin with {}.", WORDS.join(", ")),
        }),
        "tools/list" => {
            let tool = |(index, word): (usize, &&str)| {
                json!({
                    "name": format!("{word}_find"),
                    "description": format!("Finds {word} records."),
                    "inputSchema": {"type": "object"},
                    "annotations": {"readOnlyHint": reads(index)},
                })
            };
            json!({"tools": WORDS.iter().enumerate().map(tool).collect::<Vec<_>>()})
        }
        "tools/call" => {
            let text = format!("records of {}", message["params"]["name"]);
            json!({"content": [{"type": "text", "text": text}]})
        }
        "prompts/list" => json!({"prompts": [{"name": PROMPT, "description": "A prompt."}]}),
        "prompts/get" => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": format!("About {PROMPT}.")}}]})
        }
        "resources/list" => json!({"resources": [{"uri": uri, "name": RESOURCE}]}),
        "resources/templates/list" => json!({"resourceTemplates": []}),
        "resources/read" => json!({"contents": [{"uri": uri, "text": format!("At {RESOURCE}.")}]}),
        _ => json!({}),
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// Returns everything that a caller gets without naming a tool.
fn overview(person: &Person<'_>) -> String {
    let mut replies = String::new();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    replies += &person.send("", "initialize", hello).1;
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        replies += &person.request(method, json!({})).to_string();
    }
    for (tool, arguments) in [
        ("search_tools", json!({"query": "records", "top_k": 20})),
        ("search_tools", json!({"query": "find", "server": "many"})),
        ("list_mcp_servers", json!({})),
        ("list_tools", json!({"server": "many", "include_metrics": true})),
        ("recommend_tools", json!({"task_description": "find records", "top_k": 10})),
        ("get_tool_metrics", json!({})),
        ("get_tool_metrics", json!({"server": "many"})),
        ("refresh_mcp_server", json!({"server": "many"})),
        ("tool_types", json!({})),
    ] {
        replies += &person.call(tool, arguments);
    }
    replies
}

/// Removes suggestions, which depend on how near the given name is to names that the caller may know.
fn without_suggestions(answer: &str) -> String {
    let mut parts = answer.split(" Did you mean ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('?').map_or(part, |(_, rest)| rest))
}

/// Returns what a caller gets about one tool of the server, with the word of the tool replaced.
fn about(person: &Person<'_>, word: &str) -> Vec<String> {
    let tool = format!("{word}_find");
    let named = |more: Value| {
        let mut arguments = json!({"server": "many", "tool": tool});
        arguments.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        arguments
    };
    let code = format!("return await callMCPTool('many', '{tool}', {{}})");
    let answers = [
        person.call(&format!("many__{tool}"), json!({})),
        person.call("call_tool", named(json!({"arguments": {}}))),
        person.call("get_tool_schema", named(json!({}))),
        person.call("get_tool_alternatives", named(json!({"error": "it is down"}))),
        person.call("get_tool_metrics", named(json!({}))),
        person.call("run_code", json!({"code": code})),
    ];
    answers.map(|answer| answer.replace(word, "WORD")).into()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_exposes_what_rules_hide(rules in rules()) {
        let config = format!(
            "[auth]\n[servers.many]\nurl = \"{}\"\n[gates.proxy]\ngrants = [\"servers\"]\n\
             [gates.script]\ngrants = [\"catalog\"]\n[host]\ndefault_preset = \"p\"\n\
             [presets.p]\ngates.proxy = {{}}\ngates.script = {{ may = \"execute\" }}\nservers = [\"many\"]\n{}",
            server(),
            rules.blocks()
        );
        let place = Place::with(&config, &["proxy", "script"]);
        let (ann, root) = (key(&place, &["ann"]), key(&place, &["root"]));
        let host = Http::start(&place, "p", &[]);
        let root = Person::connect(&host, &root, "/mcp/p/p");
        // So that the server is listed, and its tools have records and relations.
        for word in WORDS.iter().chain(&WORDS) {
            let called = root.call("call_tool", json!({"server": "many", "tool": format!("{word}_find"), "arguments": {}}));
            prop_assert!(called.contains("records of"), "{}", called);
        }
        let everything = overview(&root);
        for word in WORDS.iter().chain(&[PROMPT, RESOURCE]) {
            prop_assert!(everything.contains(word), "{} is nowhere in {}", word, everything);
        }
        let ann = Person::connect(&host, &ann, "/mcp/p/p");
        let ann_overview = overview(&ann);
        let unknown = about(&ann, NOTHING);
        for word in WORDS {
            let (shown, answers) = (rules.shows(word), about(&ann, word));
            prop_assert_eq!(ann_overview.contains(word), shown, "{}: {}", word, ann_overview);
            prop_assert_eq!(answers[1].contains("records of"), shown, "{}: {}", word, answers[1]);
            if !shown {
                for (answer, unknown) in answers.iter().zip(&unknown) {
                    let (answer, unknown) = (without_suggestions(answer), without_suggestions(unknown));
                    prop_assert_eq!(answer, unknown, "{} is like a tool that does not exist", word);
                }
                let named = answers.iter().chain(&unknown).find(|answer| answer.contains(word));
                prop_assert_eq!(named, None, "{} is suggested", word);
                let found = ann.call("search_tools", json!({"query": word, "top_k": 20}));
                prop_assert!(!found.contains(&format!("{word}_find")), "{}", found);
            }
        }
        for word in [PROMPT, RESOURCE] {
            prop_assert_eq!(ann_overview.contains(word), rules.shows(word), "{}: {}", word, ann_overview);
        }
        let prompt = ann.request("prompts/get", json!({"name": format!("many__{PROMPT}")})).to_string();
        prop_assert_eq!(prompt.contains("About granite"), rules.prompts, "{}", prompt);
        let uri = format!("gatehouse://server/many/many://{RESOURCE}");
        let resource = ann.request("resources/read", json!({ "uri": uri })).to_string();
        prop_assert_eq!(resource.contains("At harbor"), rules.resources, "{}", resource);
    }
}
