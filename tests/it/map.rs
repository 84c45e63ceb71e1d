//! `gatehouse map`: the access of each preset, and links between pages.

mod browser;

use std::fs;

use crate::support::{Place, Ran};

const PRESETS: &str = r#"
[gates.kg]
grants = ["knowledge"]
[gates.fetch.http]
"api.example.com" = { headers = { Authorization = "Bearer ${WEATHER_TOKEN}" } }
[gates.proxy]
grants = ["servers"]
[servers.tickets]
command = "ticket-server"
env = { TICKET_KEY = "${TICKET_KEY}" }
[servers.far]
url = "https://far.example/secret-path/mcp"
[presets.reader]
gates.kg = {}
deny = ["kg_edit", "kg_index"]
[presets.all]
gates.kg = {}
gates.fetch = {}
gates.proxy = {}
"#;

fn worked(ran: &Ran) -> String {
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    ran.stdout()
}

fn place() -> Place {
    Place::with(PRESETS, &["kg", "fetch", "proxy", "echo"])
}

#[test]
fn everything_that_a_preset_reaches_is_on_the_page() {
    let place = place();
    let mut command = place.command(&["map", "--html", "map.html"]);
    let output =
        worked(&Ran(command.env("WEATHER_TOKEN", "s3cret-value-123").output().expect("run gatehouse")));
    assert!(output.starts_with("wrote map.html: "), "{output}");
    let page = fs::read_to_string(place.path("map.html")).expect("a page");
    for part in [
        "reader: ",
        "all: ",
        "kg",
        "echo",
        "Not in any preset.",
        "api.example.com",
        "ticket-server",
        "far.example",
        "WEATHER_TOKEN",
        "TICKET_KEY",
        "This variable is not set.",
        "knowledge graph",
        "through gate proxy",
        "kg_edit (mutating)",
        "Tools of preset reader",
    ] {
        assert!(page.contains(part), "no {part}");
    }
    for hidden in ["s3cret-value-123", "secret-path", "<script", "http-equiv=\"refresh"] {
        assert!(!page.contains(hidden), "{hidden}");
    }
}

#[test]
fn one_preset_is_drawn_alone_and_for_graphviz() {
    let place = place();
    let graph = worked(&place.run(&["map", "--dot", "--preset", "reader"]));
    assert!(
        graph.starts_with("digraph \"Access of presets\" {") && graph.trim_end().ends_with('}'),
        "{graph}"
    );
    assert!(graph.contains("knowledge graph") && !graph.contains("ticket-server"), "{graph}");
    let wrong = place.run(&["map", "--dot", "--preset", "raeder"]).stderr();
    assert!(wrong.contains("Did you mean 'reader'?"), "{wrong}");
    let neither = place.run(&["map"]).stderr();
    assert!(neither.contains("--html") && neither.contains("--dot"), "{neither}");
}

#[test]
fn links_between_pages_are_drawn() {
    let place = place();
    let page = |kind: &str, name: &str, links: &str| {
        let text =
            format!("# {kind}: {name}\n\n== Overview ==\nAbout {name}.\n\n== Related Pages ==\n{links}");
        place.write(&format!("wiki/{}s/{name}.md", kind.to_lowercase()), text);
    };
    page("Principle", "One", "* [[related::Principle:Two]]\n* [[related::Principle:Gone]]\n");
    page("Principle", "Two", "");
    page("Heuristic", "Alone", "");
    worked(&place.run(&["kg", "index", "wiki"]));
    worked(&place.run(&["map", "--html", "map.html", "--wiki"]));
    let page = fs::read_to_string(place.path("map.html")).expect("a page");
    for part in [
        "Links between pages",
        "Orphans (1)",
        "Heuristic/Alone",
        "Links to pages that do not exist (1)",
        "Principle/Gone",
    ] {
        assert!(page.contains(part), "no {part}");
    }
}
