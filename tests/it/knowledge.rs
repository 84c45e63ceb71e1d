//! The knowledge graph through the whole house: index, edit, restart, refuse, and survive.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use crate::support::{
    Client, Place,
    host::text_of,
    place::{SHIPPED, copy_folder},
    repository,
};

/// Presets whose tools may touch the folder `wiki` of the place.
fn editable() -> Place {
    let shipped = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let place = Place::with(&shipped.replace("wiki_roots = []", "wiki_roots = [\"wiki\"]"), &SHIPPED);
    place.sample_wiki();
    place
}

fn pages(folder: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for kind in fs::read_dir(folder).expect("a wiki").flatten().filter(|entry| entry.path().is_dir()) {
        for page in fs::read_dir(kind.path()).expect("pages").flatten() {
            found.push((page.path().display().to_string(), fs::read_to_string(page.path()).expect("a page")));
        }
    }
    found.sort();
    found
}

#[test]
fn indexing_twice_changes_nothing() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    let first = client.call("kg_index", json!({"wiki_dir": place.path("wiki")}))["structuredContent"].clone();
    let second =
        client.call("kg_index", json!({"wiki_dir": place.path("wiki")}))["structuredContent"].clone();
    assert!(first["added"].as_u64().is_some_and(|added| added >= 12), "{first}");
    assert_eq!(second["unchanged"], first["added"]);
    assert_eq!((&second["added"], &second["updated"], &second["removed"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!(second["links"], first["links"]);
}

#[test]
fn an_edit_reaches_page_and_file_and_survives_a_restart() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": place.path("wiki")}));
    let hit =
        client.call("search_knowledge", json!({"query": "circuit breaker"}))["structuredContent"]["hits"][0]
            .clone();
    let id = hit["id"].as_str().expect("an id").to_owned();
    let updates = json!({
        "overview": "A breaker, rewritten by a test.",
        "domains": ["Reliability", "Edited_By_Test"],
        "sources": [{"kind": "Doc", "title": "A source", "url": "https://example.org/doc"}],
    });
    let edited = client.call("kg_edit", json!({"page_id": id, "updates": updates}));
    assert_ne!(edited["isError"], true, "{edited}");
    let file = edited["structuredContent"]["file"].as_str().expect("a file");
    let text = fs::read_to_string(place.path("wiki").join(file)).expect("the file");
    for part in [
        "A breaker, rewritten by a test.",
        "[[domain::Edited_By_Test]]",
        "[[source::Doc|A source|https://example.org/doc]]",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    drop(client);
    let mut again = Client::start(&place, "merger");
    let page = again.call("get_wiki_page", json!({"page_title": id}))["structuredContent"].clone();
    assert_eq!(page["overview"], "A breaker, rewritten by a test.");
    assert_eq!(page["domains"], json!(["Reliability", "Edited By Test"]));
    assert_eq!(page["sources"][0]["url"], "https://example.org/doc");
    let found = again.call("search_knowledge", json!({"query": "rewritten by a test"}));
    assert_eq!(found["structuredContent"]["hits"][0]["id"], id);
    let indexed =
        again.call("kg_index", json!({"wiki_dir": place.path("wiki")}))["structuredContent"].clone();
    assert_eq!(
        (&indexed["updated"], &indexed["added"]),
        (&json!(0), &json!(0)),
        "store and file agree: {indexed}"
    );
}

#[test]
fn links_are_edited_in_both_directions() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": place.path("wiki")}));
    let types = json!({"query": "tool", "page_types": ["Heuristic"], "top_k": 2});
    let hits = client.call("search_knowledge", types)["structuredContent"]["hits"].clone();
    let (from, to) = (hits[0]["id"].as_str().expect("an id"), hits[1]["id"].as_str().expect("an id"));
    let updates = json!({"outgoing_links": [{"edge": "related", "target": to}]});
    let edited = client.call("kg_edit", json!({"page_id": from, "updates": updates}));
    assert_eq!(edited["structuredContent"]["changed"], json!(["links"]), "{edited}");
    let page = client.call("get_wiki_page", json!({"page_title": to}));
    // Where both name each other, the one line reads from the page that is shown.
    let lines = [format!("- related ← {from}"), format!("- related → {from}")];
    assert!(lines.iter().any(|line| text_of(&page).contains(line)), "{page}");
}

#[test]
fn nothing_outside_the_allowed_folders_is_touched() {
    let place = editable();
    let outside = place.path("elsewhere");
    copy_folder(&place.path("wiki"), &outside);
    let before = pages(&outside);
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": place.path("wiki")}));
    let inside = pages(&place.path("wiki"));
    let escape = place.path("wiki/../elsewhere").display().to_string();
    for wiki_dir in [outside.display().to_string(), escape, "/etc".into(), "../".into()] {
        let text = client.fails("kg_index", json!({"wiki_dir": wiki_dir}));
        assert!(text.contains("wiki_roots"), "{wiki_dir}: {text}");
    }
    for page_id in ["../x", "Principle/../../x", "/etc/passwd", "Principle/a/b", "Nonsense/x"] {
        let arguments = json!({"page_id": page_id, "updates": {"overview": "x"}, "wiki_dir": outside});
        client.fails("kg_edit", arguments);
    }
    let arguments = json!({"wiki_dir": place.path("wiki"), "persist_path": "/tmp/gatehouse-test.index"});
    client.fails("kg_index", arguments);
    assert!(!Path::new("/tmp/gatehouse-test.index").exists());
    assert_eq!((pages(&outside), pages(&place.path("wiki"))), (before, inside));
}

#[test]
fn a_file_outside_the_allowed_folders_is_kept_and_the_reply_says_so() {
    let place = Place::shipped();
    let wiki = place.sample_wiki();
    place.run(&["kg", "index", &wiki.display().to_string(), "--json"]).json();
    let before = pages(&wiki);
    let mut client = Client::start(&place, "merger");
    let arguments = json!({"page_id": "Principle/Circuit_Breaking", "updates": {"overview": "Only stored."}});
    let edited = client.call("kg_edit", arguments);
    assert!(text_of(&edited).contains("was left as it is: it lies outside knowledge.wiki_roots"), "{edited}");
    let kept = edited["structuredContent"]["kept_file"].as_str().expect("the file");
    assert!(kept.ends_with("principles/Circuit_Breaking.md"), "{kept}");
    assert_eq!(pages(&wiki), before);
}

#[test]
fn a_page_can_be_written_and_gets_a_file() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    let page = json!({"page_title": "Fresh Idea", "page_type": "Principle", "overview": "Quite new.",
                      "content": "== Overview ==\nQuite new.\n", "domains": ["Testing"]});
    let report = client.call("kg_index", json!({"page_data": page}));
    assert_eq!(report["structuredContent"]["added"], 1, "{report}");
    assert!(
        client.text("get_wiki_page", json!({"page_title": "Principle/Fresh_Idea"})).contains("Quite new.")
    );
    let file = fs::read_to_string(place.path("wiki/principles/Fresh_Idea.md")).expect("the page's file");
    assert!(file.starts_with("# Principle: Fresh Idea") && file.contains("[[domain::Testing]]"), "{file}");
}

#[test]
fn the_index_file_selects_the_wiki() {
    let place = Place::shipped();
    let (wiki, index) = (place.sample_wiki(), place.path("my.index"));
    let saved = place.run(&[
        "kg",
        "index",
        &wiki.display().to_string(),
        "--save-to",
        &index.display().to_string(),
        "--json",
    ]);
    let pages = saved.json()["added"].clone();
    let file: Value = serde_json::from_str(&fs::read_to_string(&index).expect("the file")).expect("JSON");
    assert_eq!(
        (&file["version"], &file["search_backend"], &file["page_count"]),
        (&json!("1.0"), &json!("sqlite"), &pages)
    );
    let index = index.display().to_string();
    let mut client = Client::raw(&place, &["serve", "--preset", "merger"], &[("KG_INDEX_PATH", &index)]);
    client.initialize("2025-11-25");
    let again = client.call("kg_index", json!({}));
    assert_eq!(
        again["structuredContent"]["unchanged"], pages,
        "no folder means the one of the index file: {again}"
    );
}

#[test]
fn kill_during_indexing_leaves_a_database_that_indexes_on() {
    let place = Place::shipped();
    let wiki = place.sample_wiki();
    // Enough pages that the kill falls into the work.
    let seed = pages(&wiki);
    for copy in 0..40 {
        for (path, text) in &seed {
            let path = Path::new(path);
            let stem = path.file_stem().expect("a stem").to_string_lossy();
            fs::write(path.with_file_name(format!("{stem}_{copy}.md")), text).expect("write a page");
        }
    }
    let total = seed.len() * 41;
    let folder = wiki.display().to_string();
    let database = place.path("state/knowledge.db");
    for _ in 0..5 {
        let mut child =
            place.command(&["kg", "index", &folder]).stderr(Stdio::piped()).spawn().expect("start");
        // The database appears when the writing begins; that is the moment.
        while !database.exists() && child.try_wait().expect("wait").is_none() {
            std::thread::yield_now();
        }
        child.kill().expect("kill");
        let stderr = BufReader::new(child.stderr.take().expect("stderr"));
        assert!(stderr.lines().map_while(Result::ok).all(|line| !line.contains("panicked")));
        child.wait().expect("wait");
    }
    let report = place.run(&["kg", "index", &folder, "--json"]).json();
    let count = |key: &str| report[key].as_u64().expect("a count");
    assert_eq!(count("added") + count("unchanged") + count("updated"), total as u64, "{report}");
    assert_eq!(place.run(&["kg", "index", &folder, "--json"]).json()["unchanged"], json!(total));
}

#[test]
fn a_read_only_or_broken_store_says_so_and_leaves_other_tools_alone() {
    let place = Place::shipped();
    fs::create_dir_all(place.path("state")).expect("state");
    place
        .write("state/knowledge.db", "this is no database, but it is long enough to be looked at".repeat(40));
    let mut client = Client::start(&place, "full");
    let result = client.call("search_knowledge", json!({"query": "x"}));
    let error = &result["structuredContent"]["error"];
    assert_eq!(error["type"], "UNAVAILABLE", "{result}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("knowledge engine 'sqlite'") && message.contains("knowledge.db"), "{message}");
    assert!(client.text("get_page_structure", json!({"page_type": "heuristic"})).contains("Reasoning"));
    fs::remove_file(place.path("state/knowledge.db")).expect("remove it");
    assert!(
        client.text("search_knowledge", json!({"query": "x"})).contains("Try:"),
        "it recovers without a restart"
    );
}

#[test]
fn the_real_pages_index_whole() {
    let wiki = repository().join("../shared/data/wiki");
    if !wiki.exists() {
        eprintln!("SKIPPED: {} is not here; it holds 99 real pages", wiki.display());
        return;
    }
    let place = Place::shipped();
    let folder = wiki.display().to_string();
    let first = place.run(&["kg", "index", &folder, "--json"]).json();
    assert_eq!(
        (&first["added"], &first["links"], &first["unresolved_links"]),
        (&json!(99), &json!(238), &json!([]))
    );
    let second = place.run(&["kg", "index", &folder, "--json"]).json();
    assert_eq!((&second["unchanged"], &second["added"]), (&json!(99), &json!(0)));
    let mut client = Client::start(&place, "full");
    let ids = |result: Value| -> Vec<String> {
        let hits = result["structuredContent"]["hits"].as_array().expect("hits").clone();
        hits.iter().map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
    };
    let found = ids(client.call("search_knowledge", json!({"query": "QLoRA fine-tuning"})));
    assert!(found[..3].contains(&"Workflow/Unslothai_Unsloth_QLoRA_Finetuning".to_owned()), "{found:?}");
    let found =
        client.call("search_knowledge", json!({"query": "memory", "domains": ["Optimization"], "top_k": 20}));
    let hits = found["structuredContent"]["hits"].as_array().expect("hits");
    assert!(
        hits.iter().all(|hit| hit["domains"].as_array().expect("domains").contains(&json!("Optimization")))
    );
    assert!(hits.len() > 3, "{found}");
}
