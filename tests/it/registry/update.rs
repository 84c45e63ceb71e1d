//! `gates update` and `gates remove`, for gates from a registry and local ones.

use serde_json::{Value, json};

use super::{PRESETS, Registry, components, presets, publish, run, says, tools};
use crate::support::Place;

#[test]
fn a_gate_is_brought_again_by_its_tag_and_more_than_before_is_asked_about() {
    let Some(registry) = Registry::start("") else { return };
    publish(&registry, "echo", "echo:1");
    let place = Place::with(PRESETS, &[]);
    let tagged = format!("oci://{}/echo:1", registry.address);
    run(&place, 0, &["gates", "add", &tagged]);
    says(
        &run(&place, 0, &["gates", "update"]).stdout(),
        &["gate 'echo' is up to date with the tag 1 (0.1.0)"],
    );
    let before = presets(&place);

    publish(&registry, "vices", "echo:1");
    let asked = run(&place, 2, &["gates", "update", "echo"]);
    says(&asked.stdout(), &["gate 'echo': 0.1.0 -> ", "asks for     more: ", "not granted  "]);
    says(&asked.stderr(), &["no terminal to ask", "--yes"]);
    assert_eq!(presets(&place), before, "nothing is changed without an answer");
    let refused = run(&place, 1, &["gates", "update", "--json"]);
    let report: Value = serde_json::from_str(&refused.stdout()).expect("JSON");
    assert_eq!(report[0]["changed"], false);
    assert!(report[0]["error"].as_str().is_some_and(|reason| reason.contains("asks for more")), "{report}");

    let updated = run(&place, 0, &["gates", "update", "echo", "--yes"]);
    says(&updated.stdout(), &["sha256       ", "updated gate 'echo' to oci://", "/echo:1@sha256:"]);
    assert!(presets(&place) != before && presets(&place).contains("gates.echo = {}   # from a registry"));
    assert!(tools(&place).contains(&"well_behaved".to_owned()));
    assert_eq!(run(&place, 0, &["gates", "update", "--json"]).json()[0]["changed"], json!(false));
}

#[test]
fn what_cannot_be_brought_again_is_reported_with_what_to_do() {
    let Some(registry) = Registry::start("") else { return };
    let by_digest = publish(&registry, "echo", "echo:1");
    let place = Place::with(PRESETS, &[]);
    run(&place, 0, &["gates", "add", &by_digest]);
    says(&run(&place, 2, &["gates", "update", "echo"]).stderr(), &["added by its digest", "--tag"]);
    says(&run(&place, 0, &["gates", "update"]).stdout(), &["there is nothing to update"]);
    says(&run(&place, 0, &["gates", "update", "echo", "--tag", "1"]).stdout(), &["updated gate 'echo'"]);
    says(&run(&place, 2, &["gates", "update", "idea"]).stderr(), &["did not come from a registry"]);
    says(&run(&place, 2, &["gates", "update", "ecko"]).stderr(), &["Did you mean 'echo'?"]);
}

#[test]
fn a_gate_is_removed_with_its_file_and_every_line_that_names_it() {
    let Some(registry) = Registry::start("") else { return };
    let reference = publish(&registry, "echo", "echo:1");
    let place = Place::with(PRESETS, &["vices"]);
    run(&place, 0, &["gates", "add", &reference]);
    let asked = run(&place, 2, &["gates", "remove", "echo"]);
    says(&asked.stdout(), &["removes      gates.echo from ", "presets.full.gates.echo", "deletes      "]);
    says(&asked.stderr(), &["no terminal to ask", "--yes"]);
    assert_eq!(components(&place).len(), 1);
    says(&run(&place, 0, &["gates", "remove", "echo", "--yes"]).stdout(), &["removed gate 'echo'"]);
    assert_eq!(presets(&place), PRESETS.replace("gates.echo = {}   # from a registry\n", ""));
    assert!(components(&place).is_empty());

    let report = run(&place, 0, &["gates", "remove", "vices", "--yes", "--json"]).json();
    assert_eq!((&report["taken_out"], report["deleted"].is_string()), (&json!([]), true), "{report}");
    assert!(!place.path("gates/vices.wasm").exists());
    says(&run(&place, 2, &["gates", "remove", "vices", "--yes"]).stderr(), &["there is no gate 'vices'"]);
}

#[test]
fn an_authors_own_file_stays_where_it_lies() {
    let place = Place::with(PRESETS, &["echo"]);
    std::fs::create_dir_all(place.path("mine")).expect("a folder");
    std::fs::rename(place.path("gates/echo.wasm"), place.path("mine/echo.wasm")).expect("moved");
    run(&place, 0, &["gates", "add", "mine/echo.wasm"]);
    says(&run(&place, 0, &["gates", "remove", "echo", "--yes"]).stdout(), &["leaves       "]);
    assert!(place.path("mine/echo.wasm").exists());
}
