//! Tests of recommendations in each mode.

use gatehouse_sdk::{
    Fault,
    models::Completion,
    servers::{Fit, RelatedTool},
    testing::Fake,
};
use serde_json::{Value, json};

use super::{answer, found, hit, host, metrics};

fn with_hits() -> Fake {
    host()
        .server_search(|query| {
            assert_eq!((query.query.as_str(), query.limit), ("see the history", 20));
            Ok(found(vec![hit("git", "status", 0.9), hit("git", "log", 0.8), hit("web", "look", 0.7)]))
        })
        .server_metrics(|_| Ok(vec![metrics("git", "log", 10, 0), metrics("git", "status", 10, 9)]))
        .server_related(|server, tool, _| {
            let one = RelatedTool {
                server: "git".into(),
                tool: "diff".into(),
                follows: true,
                together: 8,
                of: 10,
                lift: 3.12,
            };
            Ok(if (server, tool) == ("git", "log") { vec![one] } else { vec![] })
        })
}

fn recommended(host: Fake, mode: &str) -> (String, Value) {
    answer(host, "recommend_tools", json!({"task_description": "see the history", "search_mode": mode}))
}

fn tools(data: &Value) -> Vec<&str> {
    data["recommendations"].as_array().unwrap().iter().map(|one| one["tool"].as_str().unwrap()).collect()
}

#[test]
fn success_rates_count_only_in_hybrid_mode() {
    let (_, data) = recommended(with_hits(), "semantic");
    assert_eq!((tools(&data), &data["search_mode"]), (vec!["status", "log", "look"], &json!("semantic")));
    let (text, data) = recommended(with_hits(), "hybrid");
    assert_eq!((tools(&data), &data["search_mode"]), (vec!["log", "look", "status"], &json!("hybrid")));
    assert_eq!(
        data["recommendations"][0],
        json!({"server": "git", "tool": "log", "reason": "fits; 100 % of 10 calls succeeded",
               "similarity": 0.8, "success_rate": 1.0})
    );
    assert!(
        text.contains("Often called next: git: diff (8 of 10, 3.1 times as often as by chance)"),
        "{text}"
    );
    assert_eq!(data["related"][0]["tool"], "diff");
}

#[test]
fn unrelated_tools_are_not_recommended_as_fitting() {
    let nothing = host().server_search(|_| {
        let mut near = hit("git", "log", 1.0);
        near.fit = Fit::Nothing;
        Ok(found(vec![near]))
    });
    let (text, data) = recommended(nothing, "semantic");
    assert!(text.starts_with("Nothing fits. Nearest:\ngit: log("), "{text}");
    assert_eq!(data["recommendations"][0]["reason"], "does not fit");
    assert_eq!(recommended(host().server_search(|_| Ok(found(vec![]))), "semantic").0, "Nothing fits.");
    let proven_but_unfit = with_hits().server_search(|_| {
        let mut log = hit("git", "log", 0.9);
        log.fit = Fit::Weak;
        Ok(found(vec![log, hit("git", "status", 0.5)]))
    });
    let (text, data) = recommended(proven_but_unfit, "hybrid");
    assert_eq!(tools(&data), ["status", "log"]);
    assert!(text.contains("\nMay fit:\ngit: log("), "{text}");
}

#[test]
fn a_model_chooses_only_from_the_search_results() {
    let with_model = with_hits().serving(Some("test/model"), None, "local").complete(|prompt, options| {
        assert!(prompt.contains("\"see the history\"") && prompt.contains("log(path: string)"), "{prompt}");
        assert!(options.schema.is_some());
        let chosen = json!({"recommendations": [
            {"number": 3, "reason": "It\nlooks."}, {"number": 99, "reason": "made up"}, {"number": 3, "reason": "again"},
        ]});
        Ok(Completion::new("test/model", chosen.to_string()))
    });
    let (_, data) = recommended(with_model, "llm");
    assert_eq!((tools(&data), &data["search_mode"]), (vec!["look"], &json!("llm")));
    assert_eq!(data["recommendations"][0]["reason"], "It looks.");
}

#[test]
fn a_missing_model_is_reported() {
    let none = with_hits().serving(None, None, "local");
    let broken = with_hits()
        .serving(Some("test/model"), None, "local")
        .complete(|_, _| Err(Fault::unavailable("down")));
    let useless = with_hits()
        .serving(Some("test/model"), None, "local")
        .complete(|_, _| Ok(Completion::new("test/model", "{\"recommendations\": [{\"number\": 0}]}")));
    for host in [none, broken, useless] {
        let (text, data) = recommended(host, "llm");
        assert_eq!(
            (tools(&data), &data["search_mode"]),
            (vec!["log", "look", "status"], &json!("hybrid_fallback"))
        );
        assert!(text.contains("No language model could choose"), "{text}");
    }
}

#[test]
fn an_unreadable_ledger_hides_only_success_rates() {
    let closed = with_hits()
        .server_metrics(|_| Err(Fault::unavailable("no ledger")))
        .server_related(|_, _, _| Err(Fault::unavailable("no ledger")));
    let (text, data) = recommended(closed, "hybrid");
    assert_eq!(tools(&data), ["status", "log", "look"]);
    assert!(text.starts_with("Fits:\ngit: status(path: string) Shows the state.\n"), "{text}");
}
