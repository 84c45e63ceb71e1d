//! Tests of stored and exposed scripts.

use gatehouse_sdk::{Fault, Reply, kv, testing};
use serde_json::json;

use super::host;

const ON: &str = r#"{"store":true}"#;

fn call(tool: &str, arguments: serde_json::Value) -> Result<String, Fault> {
    let reply: Result<Reply, Fault> = testing::call(&crate::gate(), tool, &arguments.to_string(), ON);
    reply.map(|reply| reply.text())
}

#[test]
fn a_script_is_stored_run_and_listed_in_versions() {
    host().keeps([]).run(|| {
        assert_eq!(call("list_scripts", json!({})).unwrap(), "You have no saved scripts.");
        let params = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
        let save =
            |code: &str| json!({"name": "twice", "description": "Doubles.", "code": code, "params": params});
        assert_eq!(call("save_script", save("return input.n * 3")).unwrap(), "Saved version 1 of 'twice'.");
        assert_eq!(call("save_script", save("return input.n * 2")).unwrap(), "Saved version 2 of 'twice'.");
        assert_eq!(call("run_script", json!({"name": "twice", "args": {"n": 4}})).unwrap(), "8");
        assert_eq!(
            call("run_script", json!({"name": "twice", "version": 1, "args": {"n": 4}})).unwrap(),
            "12"
        );
        assert_eq!(call("list_scripts", json!({})).unwrap(), "twice(n) v2: Doubles. (run 2 times, last today)");
        let shown = call("list_scripts", json!({"name": "twice"})).unwrap();
        let head = "twice, version 2 (run 2 times, last today)\n\n```ts\n// script: twice\n// description: Doubles.\n// params: {";
        assert!(shown.starts_with(head) && shown.ends_with("}\nreturn input.n * 2\n```"), "{shown}");
        let fault = call("run_script", json!({"name": "twice"})).unwrap_err();
        assert_eq!(fault.message, "args: 'n' is missing");
        assert!(fault.hint.unwrap().contains("\"required\":[\"n\"]"));
        let fault = call("run_script", json!({"name": "twice", "version": 9, "args": {"n": 1}})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("It has versions 1 to 2."));
        let fault = call("run_script", json!({"name": "thrice"})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("Your saved scripts: twice."));
        assert!(kv::shared().list("").unwrap().is_empty(), "they are the caller's alone");
        let removed = call("remove_script", json!({"name": "twice"})).unwrap();
        assert_eq!(removed, "Removed 'twice' with 2 versions.");
        assert!(kv::caller().list("").unwrap().is_empty(), "nothing of it stays");
        assert!(call("remove_script", json!({"name": "twice"})).is_err());
    });
}

#[test]
fn an_invalid_script_is_not_saved() {
    host().keeps([]).run(|| {
        for (name, code, reason) in [
            ("Twice", "1", "1 to 64 of a-z"),
            ("a b", "1", "1 to 64 of a-z"),
            ("x", "let x = ;", "at line 1, column"),
            ("x", "namespace A { let a = 1 }", "line 1"),
        ] {
            let fault =
                call("save_script", json!({"name": name, "description": "", "code": code})).unwrap_err();
            assert!(fault.message.contains(reason), "{}", fault.message);
        }
        assert_eq!(call("list_scripts", json!({})).unwrap(), "You have no saved scripts.");
        for n in 1..=25 {
            call("save_script", json!({"name": "x", "description": "", "code": n.to_string()})).unwrap();
        }
        let fault = call("run_script", json!({"name": "x", "version": 5})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("It has versions 6 to 25."));
    });
}

#[test]
fn storing_scripts_requires_the_parameter() {
    let manifest = crate::gate().describe("{}").unwrap();
    let names: Vec<&str> = manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["run_code", "tool_types"]);
    assert_eq!(crate::gate().describe(ON).unwrap().tools.len(), 6);
}

#[test]
fn a_listed_script_names_its_missing_tools() {
    host().keeps([]).run(|| {
        let code =
            "await tools.kg.search({ query: 'a' }); await tools.kg.burn({}); callMCPTool('moon', 'land')";
        call("save_script", json!({"name": "x", "description": "Looks.", "code": code})).unwrap();
        let reply = call("list_scripts", json!({})).unwrap();
        assert_eq!(reply, "x() v1: Looks. (never run; this preset has no kg.burn, moon.land)");
    });
}

fn exposing(scripts: &[&str]) -> String {
    json!({"may": "change", "scripts": scripts}).to_string()
}

#[test]
fn a_script_of_the_preset_is_a_tool() {
    let text = "// script: twice\n// description: Doubles a number.\n\
        // params: {\"properties\":{\"n\":{\"type\":\"number\"}},\"required\":[\"n\"]}\nreturn input.n * 2";
    let params = exposing(&[text]);
    let tools = crate::gate().describe(&params).unwrap().tools;
    let tool = tools.last().unwrap();
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("twice", "Doubles a number."));
    assert_eq!(tool.effect, gatehouse_sdk::Effect::Mutating);
    let schema = &tool.input_schema;
    assert!(schema.contains("\"type\":\"object\"") && schema.contains("\"required\":[\"n\"]"), "{schema}");
    host().run(|| {
        let reply = testing::call(&crate::gate(), "twice", "{\"n\": 21}", &params).unwrap();
        assert_eq!(reply.text(), "42");
    });
    let failing = exposing(&["// script: a\n// description: b\nthrow new Error('no')"]);
    host().run(|| {
        let reply = testing::call(&crate::gate(), "a", "{}", &failing).unwrap();
        assert!(reply.is_error && reply.text().contains("no\n  at line 3, column"), "{}", reply.text());
    });
}

#[test]
fn an_invalid_preset_script_is_rejected_with_a_reason() {
    let good = "// script: a\n// description: b\n1";
    let taken = "// script: run_code\n// description: b\n1";
    for (scripts, reason) in [
        (&["1"][..], "scripts[0]: missing line `// script: …` at the beginning"),
        (&[good, taken], "scripts[1], 'run_code': this gate has a tool with that name"),
        (&["// script: a\n// description: b\nlet x = ;"], "at line 3, column"),
        (&[good, good], "declares 'a' twice"),
    ] {
        let fault = crate::gate().describe(&exposing(scripts)).unwrap_err();
        assert!(fault.message.contains(reason), "{}", fault.message);
    }
}
