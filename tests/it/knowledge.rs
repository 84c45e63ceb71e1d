//! The knowledge graph end to end: indexing, editing, searching, reading, invalid input and crashes.

mod editing;
mod indexing;
mod reading;
mod roots;
mod searching;
mod writing;

use std::{fs, path::Path};

use crate::support::{Place, place::SHIPPED, repository, structured};

fn editable() -> Place {
    let shipped = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let shipped = structured(&shipped);
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

fn indexed(files: &[(&str, &str)]) -> Place {
    let place = Place::shipped();
    for (name, text) in files {
        place.write(&format!("own/{name}"), text);
    }
    place.run(&["kg", "index", "own", "--json"]).json();
    place
}
