//! `knowledge.wiki_roots`: the folders that tools can access; errors reveal nothing about others.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{editable, pages};
use crate::support::{Client, Place, place::copy_folder, text_of};

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
    let place = Place::structured();
    let wiki = place.sample_wiki();
    place.run(&["kg", "index", &wiki.display().to_string(), "--json"]).json();
    let before = pages(&wiki);
    let mut client = Client::start(&place, "merger");
    let arguments = json!({"page_id": "Principle/Circuit_Breaking", "updates": {"overview": "Only stored."}});
    let edited = client.call("kg_edit", arguments);
    assert!(text_of(&edited).contains("is unchanged: it is outside knowledge.wiki_roots"), "{edited}");
    let kept = edited["structuredContent"]["kept_file"].as_str().expect("the file");
    assert!(kept.ends_with("principles/Circuit_Breaking.md"), "{kept}");
    assert_eq!(pages(&wiki), before);
}

#[test]
fn a_denial_says_the_same_whether_the_path_exists_or_not() {
    let place = editable();
    fs::create_dir_all(place.path("outside/there")).expect("a folder");
    place.write("outside/file", "x");
    #[cfg(unix)]
    std::os::unix::fs::symlink(place.path("outside/there"), place.path("outside/link")).expect("a link");
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": "wiki"}));
    let absolute = |name: &str| place.path(name).display().to_string();
    type Arguments = fn(&str) -> Value;
    let asks: [(&str, Arguments); 3] = [
        ("kg_index", |path| json!({"wiki_dir": path})),
        ("kg_index", |path| json!({"wiki_dir": "wiki", "persist_path": format!("{path}/x.index")})),
        (
            "kg_edit",
            |path| json!({"page_id": "Principle/Circuit_Breaking", "updates": {"overview": "x"}, "wiki_dir": path}),
        ),
    ];
    for (tool, arguments) in asks {
        // The error must not depend on the file type or on whether the path exists.
        let mut denial = |path: &str| {
            let text = client.fails(tool, arguments(path)).replace(path, "*");
            ["there", "file", "link", "nowhere"]
                .iter()
                .fold(text, |text, name| text.replace(&format!("outside/{name}"), "*"))
        };
        let nothing = denial(&absolute("outside/nowhere"));
        assert!(nothing.contains("is outside the wiki folders"), "{nothing}");
        for there in ["outside/there", "outside/file", "outside/link"] {
            assert_eq!(denial(&absolute(there)), nothing, "{tool}: {there}");
        }
        let nothing = denial("outside/nowhere");
        for there in ["outside/there", "outside/file", "wiki/../outside/there"] {
            assert_eq!(denial(there), nothing, "{tool}: {there}");
        }
    }
}
