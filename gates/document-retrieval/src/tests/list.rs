//! Tests of the repository list and its budget.

use super::*;

const TOOL: &str = "list_repositories_with_navigation";

#[test]
fn repositories_are_listed_with_their_guides() {
    let reply = call(host(""), TOOL, json!({})).unwrap();
    let text = reply.text();
    assert!(
        text.contains(
            "## manual\n\ndocumentation · 3 documents · https://example.org/manual.git · at 0123456789ab"
        ),
        "{text}"
    );
    assert!(text.contains("\n### Guide\n"), "{text}");
    let data = data(TOOL, &reply);
    assert_eq!(data["repositories"][0]["repository_type"], "documentation");
    assert_eq!(data["repositories"][1]["navigation_guide"], "# Guide\n\nLook for calibration.\n");
}

#[test]
fn guides_can_be_omitted() {
    let short = host("").repositories(|guides| {
        assert!(!guides);
        Ok(vec![Repository { navigation_guide: None, ..repository("manual") }])
    });
    let reply = call(short, TOOL, json!({"include_navigation": false})).unwrap();
    assert!(!reply.text().contains("Guide"), "{}", reply.text());
    let long = |name: &str| Repository {
        navigation_guide: Some(format!("# Guide\n{}", "word ".repeat(200))),
        ..repository(name)
    };
    let two = host("").repositories(move |_| Ok(vec![long("manual"), long("other")]));
    let reply = call(two, TOOL, json!({})).unwrap();
    assert!(reply.text().contains("Guides left out to stay within the budget: `other`."), "{}", reply.text());
    assert_eq!(data(TOOL, &reply)["guides_left_out"], json!(["other"]));
}

#[test]
fn one_repository_is_listed_by_its_name() {
    let reply = call(host(""), TOOL, json!({"repository": "OTHER"})).unwrap();
    assert!(reply.text().contains("## other") && !reply.text().contains("## manual"));
    let fault = call(host(""), TOOL, json!({"repository": "none"})).unwrap_err();
    assert_eq!(fault.hint.as_deref(), Some("There are: manual, other."));
    let none = call(host("").repositories(|_| Ok(vec![])), TOOL, json!({})).unwrap();
    assert!(none.text().starts_with("There are no repositories yet."));
}
