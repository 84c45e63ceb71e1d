//! Indexing folders: repeatedly, from an index file, and after a kill.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use serde_json::{Value, json};

use super::{editable, pages};
use crate::support::{Client, Place, fault_of, repository};

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
    let place = Place::structured();
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
    let place = Place::structured();
    let wiki = place.sample_wiki();
    // Enough pages that the kill interrupts the work.
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
    let place = Place::structured();
    fs::create_dir_all(place.path("state")).expect("state");
    place
        .write("state/knowledge.db", "this is not a database, but it is long enough for a header".repeat(40));
    let mut client = Client::start(&place, "full");
    let result = client.call("search_knowledge", json!({"query": "x"}));
    let error = fault_of(&result);
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
    let place = Place::structured();
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
