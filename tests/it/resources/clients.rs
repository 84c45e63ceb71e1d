//! The official SDKs list, read and prompt over stdio and HTTP: older ones with sessions, newer ones without.

use serde_json::{Value, json};

use super::library;
use crate::{
    client_matrix::{Kind, Program, run},
    support::{Http, installed, place::binary},
};

fn lists_reads_and_prompts(variable: &'static str, program: Program) {
    let kind = Kind { variable, program };
    let Some(packages) = installed(variable) else { return };
    let place = library();
    let host = Http::start(&place, "library", &[]);
    let stdio = json!({
        "command": binary(),
        "args": ["serve", "--preset", "library", "--config", place.path("presets.toml")],
        "env": {"GATEHOUSE_STATE": place.path("state"), "XDG_CACHE_HOME": place.path(".cache")},
    });
    for target in [json!({"url": format!("{}/mcp", host.base)}), stdio] {
        let report = run(&kind, &packages, &place, &target);
        let pages = report["pages"].as_array().expect("pages");
        let listed: Vec<&str> = pages
            .iter()
            .flat_map(|page| page.as_array().expect("a page"))
            .filter_map(Value::as_str)
            .collect();
        let fiction = ["test://fiction/0", "test://fiction/1", "test://fiction/2"];
        assert_eq!(listed, [&fiction[..], &["test://poetry/0", "test://poetry/1"]].concat(), "{report}");
        assert_eq!(report["templates"], json!(["test://fiction/{id}", "test://poetry/{id}"]));
        assert_eq!(report["text"], "Book 1 of poetry.");
        assert_eq!(report["bytes"], json!([254, 255]));
        let arguments = json!([["book", true], ["style", false]]);
        let prompts = json!([["review_fiction", arguments], ["review_poetry", arguments]]);
        assert_eq!(report["prompts"], prompts);
        assert_eq!(report["roles"], json!(["user", "user", "assistant"]));
        assert_eq!(report["first"], "review_poetry: a long review, please.");
        assert_eq!(report["embedded"], "test://poetry/1");
        for (what, codes, reason) in [
            ("missing", [-32002, -32602], "Book not found: '9'"),
            ("cursor", [-32602, -32602], "invalid cursor"),
            ("argument", [-32602, -32602], "argument 'book' is missing"),
        ] {
            let [code, message] = [&report[what][0], &report[what][1]];
            assert!(codes.iter().any(|known| code == known), "{what}: {report}");
            assert!(message.as_str().is_some_and(|message| message.contains(reason)), "{what}: {report}");
        }
    }
}

#[test]
fn python_1() {
    lists_reads_and_prompts("GATEHOUSE_TEST_PYTHON_1", Program::Python("resources_python1.py"));
}

#[test]
fn python_2() {
    lists_reads_and_prompts("GATEHOUSE_TEST_PYTHON_2", Program::Python("resources_python2.py"));
}

#[test]
fn typescript_1() {
    lists_reads_and_prompts("GATEHOUSE_TEST_TYPESCRIPT_1_32", Program::Node("resources_typescript.mjs"));
}

#[test]
fn typescript_2() {
    lists_reads_and_prompts("GATEHOUSE_TEST_TYPESCRIPT_2", Program::Node("resources_typescript.mjs"));
}
