//! Scripts that are kept.

use gatehouse_sdk::{Fault, Reply, kv, testing};
use serde_json::json;

use super::host;

const ON: &str = r#"{"store":true}"#;

fn call(tool: &str, arguments: serde_json::Value) -> Result<String, Fault> {
    let reply: Result<Reply, Fault> = testing::call(&crate::gate(), tool, &arguments.to_string(), ON);
    reply.map(|reply| reply.text())
}

#[test]
fn a_script_is_kept_run_and_told_in_versions() {
    host().keeps([]).run(|| {
        assert_eq!(call("list_scripts", json!({})).unwrap(), "You keep no script yet.");
        let params = json!({"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]});
        let save =
            |code: &str| json!({"name": "twice", "description": "Doubles.", "code": code, "params": params});
        assert_eq!(call("save_script", save("return input.n * 3")).unwrap(), "Kept as version 1 of 'twice'.");
        assert_eq!(call("save_script", save("return input.n * 2")).unwrap(), "Kept as version 2 of 'twice'.");
        assert_eq!(call("run_script", json!({"name": "twice", "args": {"n": 4}})).unwrap(), "8");
        assert_eq!(
            call("run_script", json!({"name": "twice", "version": 1, "args": {"n": 4}})).unwrap(),
            "12"
        );
        assert_eq!(call("list_scripts", json!({})).unwrap(), "twice(n) v2: Doubles. (run 2 times)");
        let shown = call("list_scripts", json!({"name": "twice"})).unwrap();
        assert!(shown.contains("```ts\nreturn input.n * 2\n```"), "{shown}");
        let fault = call("run_script", json!({"name": "twice"})).unwrap_err();
        assert_eq!(fault.message, "args: 'n' is missing");
        assert!(fault.hint.unwrap().contains("\"required\":[\"n\"]"));
        let fault = call("run_script", json!({"name": "twice", "version": 9, "args": {"n": 1}})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("It has versions 1 to 2."));
        let fault = call("run_script", json!({"name": "thrice"})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("You keep: twice."));
        assert!(kv::keys("").unwrap().is_empty(), "they are the caller's alone");
    });
}

#[test]
fn what_could_not_be_run_is_not_kept() {
    host().keeps([]).run(|| {
        for (name, code, why) in [
            ("Twice", "1", "1 to 64 of a-z"),
            ("a b", "1", "1 to 64 of a-z"),
            ("x", "let x = ;", "at line 1, column"),
            ("x", "namespace A { let a = 1 }", "line 1"),
        ] {
            let fault =
                call("save_script", json!({"name": name, "description": "", "code": code})).unwrap_err();
            assert!(fault.message.contains(why), "{}", fault.message);
        }
        assert_eq!(call("list_scripts", json!({})).unwrap(), "You keep no script yet.");
        for n in 1..=25 {
            call("save_script", json!({"name": "x", "description": "", "code": n.to_string()})).unwrap();
        }
        let fault = call("run_script", json!({"name": "x", "version": 5})).unwrap_err();
        assert_eq!(fault.hint.as_deref(), Some("It has versions 6 to 25."));
    });
}

#[test]
fn scripts_are_kept_only_where_a_preset_says_so() {
    let told = crate::gate().describe("{}").unwrap();
    let names: Vec<&str> = told.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["run_code", "tool_types"]);
    assert_eq!(crate::gate().describe(ON).unwrap().tools.len(), 5);
}
