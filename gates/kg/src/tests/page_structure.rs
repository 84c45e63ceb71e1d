//! Tests of `get_page_structure` for all five types.

use gatehouse_sdk::{conformance, testing};

use crate::gate;

const TYPES: [(&str, &[&str]); 5] = [
    ("workflow", &["Execution Steps", "Execution Diagram", "GitHub URL"]),
    ("principle", &["Theoretical Basis"]),
    ("implementation", &["Code Reference", "I/O Contract", "Usage Examples"]),
    (
        "environment",
        &[
            "System Requirements",
            "Dependencies",
            "Credentials",
            "Quick Install",
            "Code Evidence",
            "Common Errors",
            "Compatibility Notes",
        ],
    ),
    ("heuristic", &["The Insight", "Reasoning"]),
];

fn reply(page_type: &str) -> gatehouse_sdk::Reply {
    let arguments = format!("{{\"page_type\":\"{page_type}\"}}");
    testing::call(&gate(), "get_page_structure", &arguments, "{}").unwrap()
}

#[test]
fn every_type_has_its_sections_in_text_data_and_skeleton() {
    for (page_type, own) in TYPES {
        let reply = reply(page_type);
        let text = reply.text();
        let data = conformance::structured(&gate(), "get_page_structure", &reply);
        let skeleton = data["skeleton"].as_str().unwrap();
        for section in ["Overview", "Description", "Usage", "Related Pages"].iter().chain(own) {
            let heading = format!("= {section}");
            assert!(text.contains(&heading) && skeleton.contains(&heading), "{page_type}: {section}");
        }
        for part in
            ["Belongs here:", "Leave out:", "## Skeleton", "[[domain::", "[[source::", "[[last_updated::"]
        {
            assert!(text.contains(part), "{page_type}: {part}");
        }
        assert_eq!(data["page_type"].as_str().unwrap().to_lowercase(), page_type);
        assert!(text.contains(&format!("{page_type}s/<Name>.md")));
    }
}

#[test]
fn a_principle_has_exactly_one_implementation() {
    let text = reply("principle").text();
    assert!(text.contains("`[[implemented_by::Implementation:Name]]`: exactly one"), "{text}");
    assert_eq!(text.matches("[[implemented_by::Implementation:Project_Name]]").count(), 1);
}

#[test]
fn type_names_match_other_tools_and_others_are_rejected() {
    assert_eq!(reply("Principle").text(), reply("principle").text());
    for bad in ["PRINCIPLE", "recipe", ""] {
        assert!(!conformance::accepts(
            &gate(),
            "get_page_structure",
            &format!("{{\"page_type\":\"{bad}\"}}")
        ));
    }
    assert!(!conformance::accepts(&gate(), "get_page_structure", "{}"));
}
