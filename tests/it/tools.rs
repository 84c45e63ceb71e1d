//! The tools of every shipped preset, called on real pages; their texts match the docs.

use serde_json::{Value, json};

use crate::support::{Client, Place, text_of};

fn indexed() -> Place {
    let place = Place::structured();
    let wiki = place.sample_wiki();
    let report = place.run(&["kg", "index", &wiki.display().to_string(), "--json"]).json();
    assert!(report["added"].as_u64().is_some_and(|pages| pages >= 12), "{report}");
    assert_eq!(report["unresolved_links"], json!([]), "{report}");
    place
}

#[test]
fn each_preset_shows_its_tools_and_no_other() {
    let place = Place::shipped();
    let kg = &["get_page_structure", "get_wiki_page", "kg_edit", "kg_index", "search_knowledge"][..];
    let research = &["research_idea", "research_implementation", "research_study"][..];
    let documents =
        &["list_repositories_with_navigation", "mfai_document_retrieval", "read_repository_file"][..];
    let results = &["get_workspace_file", "semantic_search"][..];
    let proxy = &[
        "call_tool",
        "get_tool_alternatives",
        "get_tool_metrics",
        "get_tool_schema",
        "list_mcp_servers",
        "list_tools",
        "recommend_tools",
        "refresh_mcp_server",
        "search_tools",
    ][..];
    let (idea, code) = (&["wiki_idea_search"][..], &["wiki_code_search"][..]);
    for (preset, gates) in [
        ("merger", vec![kg]),
        ("ideation", vec![idea, research]),
        ("implementation", vec![code, research]),
        ("context", vec![idea, code]),
        ("documents", vec![documents]),
        ("proxy", vec![proxy, results]),
        ("full", vec![kg, idea, code, research, documents]),
    ] {
        let mut tools = gates.concat();
        tools.sort();
        assert_eq!(Client::start(&place, preset).tools(), tools, "{preset}");
    }
}

#[test]
fn annotations_follow_from_the_effect() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "merger");
    let listed = client.request("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().expect("tools") {
        let mutating = ["kg_index", "kg_edit"].contains(&tool["name"].as_str().expect("a name"));
        let hints = &tool["annotations"];
        assert_eq!(
            (&hints["readOnlyHint"], &hints["destructiveHint"]),
            (&json!(!mutating), &json!(mutating)),
            "{tool}"
        );
        assert_eq!(hints["openWorldHint"], false);
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
    }
}

#[test]
fn research_reads_the_world_and_changes_nothing() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "implementation");
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools").iter();
    let research =
        tools.filter(|tool| tool["name"].as_str().is_some_and(|name| name.starts_with("research_")));
    let research: Vec<&Value> = research.collect();
    assert_eq!(research.len(), 3, "{listed}");
    for tool in research {
        let hints = &tool["annotations"];
        assert_eq!((&hints["readOnlyHint"], &hints["openWorldHint"]), (&json!(true), &json!(true)), "{tool}");
        let arguments = &tool["inputSchema"]["properties"];
        assert_eq!(arguments["depth"]["default"], "deep", "{tool}");
        if tool["name"] != "research_study" {
            assert_eq!(arguments["top_k"]["default"], 3, "{tool}");
        }
    }
}

#[test]
fn search_reads_as_documented() {
    let place = indexed();
    let mut client = Client::start(&place, "full");
    let result = client.call("search_knowledge", json!({"query": "circuit breaker", "top_k": 3}));
    let text = text_of(&result);
    assert!(
        text.starts_with("# Search Results for: \"circuit breaker\"\n\n**Verdict:** ")
            && text.contains("\nFound **3** relevant pages:\n"),
        "{text}"
    );
    for part in [
        "\n---\n",
        "## [1] ",
        "**Type:** ",
        " | **Score:** ",
        "**Domains:** ",
        "### Overview",
        "### Content Preview",
        "`get_wiki_page`",
        "### Related",
        " → ",
    ] {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
    let data = &result["structuredContent"];
    assert_eq!((data["query"].as_str(), data["found"].as_u64()), (Some("circuit breaker"), Some(3)));
    assert!(
        data["hits"][0]["title"].as_str().is_some_and(|title| title.to_lowercase().contains("breaker")),
        "{data}"
    );
    assert!(data["hits"][0]["score"].as_f64().is_some_and(|score| score > 0.8), "{data}");
}

#[test]
fn filters_narrow_before_the_limit() {
    let place = indexed();
    let mut client = Client::start(&place, "full");
    let arguments = json!({"query": "tool results and context", "page_types": ["Heuristic"], "top_k": 20});
    let found = client.call("search_knowledge", arguments)["structuredContent"]["hits"].clone();
    let found = found.as_array().expect("hits");
    assert!(!found.is_empty() && found.iter().all(|hit| hit["page_type"] == "Heuristic"), "{found:?}");
    let all = client.call("search_knowledge", json!({"query": "tool", "top_k": 1_000_000_000}));
    assert!(
        all["structuredContent"]["found"].as_u64().is_some_and(|found| (2..=20).contains(&found)),
        "{all}"
    );
    let domain =
        all["structuredContent"]["hits"][0]["domains"][0].as_str().expect("a domain").replace(' ', "_");
    let narrowed =
        client.call("search_knowledge", json!({"query": "tool", "domains": [domain.to_uppercase()]}));
    let hits = narrowed["structuredContent"]["hits"].as_array().expect("hits");
    let has =
        |hit: &Value| hit["domains"].as_array().expect("domains").contains(&json!(domain.replace('_', " ")));
    assert!(!hits.is_empty() && hits.iter().all(has), "{narrowed}");
    let best = client.call("search_knowledge", json!({"query": "tool", "min_score": 1.0}));
    assert!(
        best["structuredContent"]["hits"].as_array().expect("hits").iter().all(|hit| hit["score"] == 1.0)
    );
}

#[test]
fn a_page_is_read_by_title_and_by_id_in_either_spelling() {
    let place = indexed();
    let mut client = Client::start(&place, "merger");
    let found = client.call("search_knowledge", json!({"query": "circuit breaker"}));
    let hit = found["structuredContent"]["hits"][0].clone();
    let (id, title) = (hit["id"].as_str().expect("an id"), hit["title"].as_str().expect("a title"));
    for name in [id.to_owned(), id.replace('_', " "), title.to_owned(), title.replace(' ', "_")] {
        let page = client.call("get_wiki_page", json!({"page_title": name}));
        assert_eq!(page["structuredContent"]["id"], id, "{name}: {page}");
        let text = text_of(&page);
        for part in ["**Type:** ", "**Domains:** ", "**Last updated:** ", "## Overview", "## Related pages"] {
            assert!(text.contains(part), "{part:?} is missing in\n{text}");
        }
    }
    let missing = client.fails("get_wiki_page", json!({"page_title": title.replace("er", "re")}));
    assert!(missing.starts_with("Page not found: '") && missing.contains("Nearest titles: "), "{missing}");
}

#[test]
fn nothing_found_is_not_an_error_and_names_only_tools_the_caller_has() {
    let place = indexed();
    let query = json!({"query": "zzyzx qwertz"});
    let mut full = Client::start(&place, "full");
    let text = full.text("search_knowledge", json!({"query": "zzyzx", "page_types": ["Workflow"]}));
    assert!(text.contains("zzyzx") && text.contains("\nTry:\n- ") && text.contains("page_types"), "{text}");
    let text = full.text("wiki_idea_search", query.clone());
    assert!(text.starts_with("No conceptual knowledge found for: \"zzyzx qwertz\""), "{text}");
    assert!(text.contains("wiki_code_search"), "{text}");
    let mut ideation = Client::start(&place, "ideation");
    let text = ideation.text("wiki_idea_search", query);
    assert!(!text.contains("wiki_code_search") && !text.contains("search_knowledge"), "{text}");
}

#[test]
fn idea_and_code_search_their_own_types() {
    let place = indexed();
    let mut client = Client::start(&place, "full");
    let query = json!({"query": "tool calls", "top_k": 20});
    for (tool, heading, types) in [
        ("wiki_idea_search", "# Idea Search: \"tool calls\"", ["Principle", "Heuristic"]),
        ("wiki_code_search", "# Code Search: \"tool calls\"", ["Implementation", "Environment"]),
    ] {
        let result = client.call(tool, query.clone());
        assert!(text_of(&result).starts_with(heading), "{result}");
        let hits = result["structuredContent"]["hits"].as_array().expect("hits");
        assert!(!hits.is_empty(), "{tool}");
        assert!(
            hits.iter().all(|hit| types.contains(&hit["page_type"].as_str().expect("a type"))),
            "{hits:?}"
        );
    }
}

#[test]
fn parameters_of_the_preset_reach_the_gate() {
    let place = indexed();
    let mut client = Client::start(&place, "context");
    let text = client.text("wiki_code_search", json!({"query": "tool"}));
    assert!(!text.contains("### Content Preview"), "include_content = false: {text}");
    let listed = client.request("tools/list", json!({}));
    let default = &listed["result"]["tools"][1]["inputSchema"]["properties"]["top_k"]["default"];
    assert_eq!(default, 5, "{listed}");
    let mut ideation = Client::start(&place, "ideation");
    let listed = ideation.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let search = tools.iter().find(|tool| tool["name"] == "wiki_idea_search").expect("the tool");
    assert_eq!(search["inputSchema"]["properties"]["top_k"]["default"], 10);
}

#[test]
fn page_structures_tell_what_belongs_where() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "merger");
    for (page_type, sections) in [
        (
            "workflow",
            &[
                "Overview",
                "Description",
                "Usage",
                "Related Pages",
                "Execution Steps",
                "Execution Diagram",
                "GitHub URL",
            ][..],
        ),
        ("principle", &["Theoretical Basis", "implemented_by"]),
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
    ] {
        let text = client.text("get_page_structure", json!({"page_type": page_type}));
        for section in sections {
            assert!(text.contains(section), "{page_type}: {section} is missing in\n{text}");
        }
    }
}
