//! Writing pages with tool calls: file locations, confirmation before clearing, and duplicate ids.

use std::fs;

use serde_json::json;

use super::{editable, indexed};
use crate::support::Client;

fn fresh(title: &str) -> serde_json::Value {
    let content = "== Overview ==\nQuite new.\n\n[[domain::Testing]] [[related::Principle:Circuit_Breaking]]";
    json!({"page_data": {"page_title": title, "page_type": "principle", "overview": "Quite new.", "content": content}})
}

#[test]
fn a_written_page_says_where_it_lives() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": "wiki"}));
    let text = client.text("kg_index", fresh("Fresh Idea"));
    let file = place.path("wiki").canonicalize().expect("a wiki").join("principles/Fresh_Idea.md");
    assert!(text.contains(&format!("**File:** `{}`", file.display())), "{text}");
    assert!(fs::read_to_string(&file).expect("the file").contains("Quite new."));
    let again = client.text("kg_index", json!({"wiki_dir": "wiki"}));
    assert!(again.contains("**Added:** 0 | **Updated:** 0 |") && again.contains("**Removed:** 0"), "{again}");

    let place = indexed(&[("principles/Circuit_Breaking.md", "# Principle: Circuit_Breaking\n")]);
    let mut client = Client::start(&place, "merger");
    let text = client.text("kg_index", fresh("Fresh Idea"));
    assert!(text.contains("**File:** none; the page is only in the store"), "{text}");
    let page = client.text("get_wiki_page", json!({"page_title": "Fresh Idea"}));
    assert!(
        page.contains("**Domains:** Testing") && page.contains("- related → Principle/Circuit_Breaking"),
        "{page}"
    );
}

#[test]
fn a_clearing_names_what_no_folder_brings_back_and_needs_confirm() {
    let place = editable();
    // Written while the wiki folder is missing, so the page has no file.
    let mut client = Client::start(&place, "merger");
    fs::rename(place.path("wiki"), place.path("away")).expect("move the wiki");
    assert!(client.text("kg_index", fresh("Only Here")).contains("**File:** none"));
    fs::rename(place.path("away"), place.path("wiki")).expect("move it back");
    let clear = json!({"wiki_dir": "wiki", "clear_existing": true});
    let text = client.fails("kg_index", clear);
    assert!(text.contains("Principle/Only_Here") && text.contains("confirm = \"all\""), "{text}");
    assert!(client.text("get_wiki_page", json!({"page_title": "Only Here"})).contains("Quite new."));
    client.text("kg_index", json!({"wiki_dir": "wiki", "clear_existing": true, "confirm": "all"}));
    client.fails("get_wiki_page", json!({"page_title": "Principle/Only_Here"}));
    client.text("kg_index", json!({"wiki_dir": "wiki", "clear_existing": true}));
}

#[test]
fn the_same_id_from_two_folders_is_reported() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.text("kg_index", json!({"wiki_dir": "wiki"}));
    place.write("wiki/other/principles/Circuit_Breaking.md", "# Principle: Circuit_Breaking\nAnother one.\n");
    let text = client.text("kg_index", json!({"wiki_dir": "wiki/other"}));
    assert!(
        text.contains("## Taken over (1)\n") && text.contains(": Principle/Circuit_Breaking\n"),
        "{text}"
    );
}

#[test]
fn namesakes_and_unknown_domains_and_edges_are_reported() {
    let place = indexed(&[
        ("principles/A.md", "# Principle: Shared\n[[domain::Caching]]\n[[depends_on::Principle:B]]\nOne.\n"),
        ("principles/B.md", "# Principle: Shared\nTwo.\n"),
        ("heuristics/C.md", "# Heuristic: Shared\nThree.\n"),
    ]);
    let mut client = Client::start(&place, "merger");
    let text = client.text("get_wiki_page", json!({"page_title": "Shared"}));
    assert!(text.contains("**Same title:** `Principle/A`, `Principle/B`"), "{text}");
    let text = client.text("search_knowledge", json!({"query": "shared", "domains": ["Cachng"]}));
    assert!(text.contains("No page has the domain 'Cachng'; nearest: caching"), "{text}");
    let page = json!({"page_title": "D", "page_type": "Principle", "overview": "o", "content": "[[depends_on::Principle:A]]"});
    let text = client.text("kg_index", json!({ "page_data": page }));
    assert!(
        text.contains("## Unknown edges (1)") && text.contains("- depends_on: 1 link in Principle/D"),
        "{text}"
    );
}
