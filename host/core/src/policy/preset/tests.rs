//! Tests of presets that extend each other.

use serde_json::json;

use super::*;

fn params(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

fn gate(name: &str) -> SourceId {
    SourceId::Gate(name.into())
}

fn presets() -> BTreeMap<String, Preset> {
    let base = Preset {
        sources: vec![(gate("idea"), params(json!({"top_k": 10, "use_llm_reranker": true})))],
        deny: vec!["research_*".into()],
        ..Preset::default()
    };
    let mine = Preset {
        extends: vec!["base".into()],
        sources: vec![(gate("code"), Map::new()), (gate("idea"), params(json!({"top_k": 3})))],
        ..Preset::default()
    };
    let (a, b) = (
        Preset { extends: vec!["b".into()], ..Preset::default() },
        Preset { extends: vec!["a".into()], ..Preset::default() },
    );
    let lost = Preset { extends: vec!["bas".into()], ..Preset::default() };
    [("base", base), ("mine", mine), ("a", a), ("b", b), ("lost", lost)]
        .map(|(name, preset)| (name.to_owned(), preset))
        .into()
}

#[test]
fn later_lines_win_parameter_by_parameter() {
    let mine = CompiledPreset::compile(&presets(), "mine").expect("compiles");
    let expected = json!({"top_k": 3, "use_llm_reranker": true});
    assert_eq!(mine.sources, vec![(gate("idea"), params(expected)), (gate("code"), Map::new())]);
    assert_eq!(mine.denied_by("research_study"), Some("research_*"));
    assert_eq!(mine.denied_by("wiki_idea_search"), None);
}

#[test]
fn deny_matches_the_end_of_names_that_are_too_long_to_be_shown() {
    let preset = Preset { deny: vec!["github__*_repository".into()], ..Preset::default() };
    let compiled = CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").expect("compiles");
    let denied = |tool: &str, shown: Option<&str>| {
        let id = ToolId { source: SourceId::Server("github".into()), name: tool.into() };
        let exposed = id.source.exposed_name(tool).expect("a name").to_string();
        compiled.denies(&id, shown.unwrap_or(&exposed)).is_some()
    };
    let long = format!("delete_{}_repository", "x".repeat(60));
    assert!(denied("delete_repository", None) && denied(&long, None));
    assert!(!denied(&format!("{long}_list"), None) && !denied("list", None));
    assert!(!denied(&long, Some("remove")), "as for short names, a preset's own name counts alone");
    assert!(!denied("delete_repository", Some("remove")));
}

#[test]
fn mistakes_are_named() {
    let error =
        |name: &str| CompiledPreset::compile(&presets(), name).map(|_| ()).expect_err("refused").to_string();
    assert_eq!(
        error("mien"),
        "unknown preset 'mien'. Did you mean 'mine'? There are: a, b, base, lost, mine."
    );
    assert_eq!(error("a"), "presets extend each other in a cycle: a -> b -> a");
    assert!(
        error("lost").starts_with("preset 'lost' extends 'bas', which does not exist. Did you mean 'base'?")
    );
}
