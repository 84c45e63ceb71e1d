//! The official SDKs answer a gate's questions over stdio and HTTP.

use serde_json::json;

use super::place;
use crate::{
    client_matrix::{Kind, Program, run},
    support::{Http, installed, place::binary},
};

fn answers(variable: &'static str, program: Program) {
    let kind = Kind { variable, program };
    let Some(packages) = installed(variable) else { return };
    let place = place();
    let host = Http::start(&place, "all", &[]);
    let stdio = json!({
        "command": binary(),
        "args": ["serve", "--preset", "all", "--config", place.path("presets.toml")],
        "env": {"GATEHOUSE_STATE": place.path("state"), "XDG_CACHE_HOME": place.path(".cache")},
    });
    for target in [json!({"url": format!("{}/mcp", host.base)}), stdio] {
        let reports = run(&kind, &packages, &place, &target);
        for (way, report) in reports.as_object().expect("an object") {
            let asked = vec!["Gate 'asker' asks: How many?"; 3];
            assert_eq!(report["asked"], json!(asked), "{way}: {report}");
            assert_eq!(report["ask"], "{\"n\":1} {\"n\":2} declined", "{way}");
            assert_eq!(report["ask_model"], "m-1: Because.", "{way}");
            assert_eq!(report["tell"], "told", "{way}");
            assert_eq!(report["told"], json!([["warning", "asker", {"large": true}]]), "{way}");
        }
    }
}

#[test]
fn python_2() {
    answers("GATEHOUSE_TEST_PYTHON_2", Program::Python("asking_python2.py"));
}

#[test]
fn typescript_1() {
    answers("GATEHOUSE_TEST_TYPESCRIPT_1_32", Program::Node("asking_typescript.mjs"));
}

#[test]
fn typescript_2() {
    answers("GATEHOUSE_TEST_TYPESCRIPT_2", Program::Node("asking_typescript.mjs"));
}
