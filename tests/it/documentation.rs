//! Checks the documentation: configurations parse, links resolve, and commands exist.

mod commands;
mod picture;
mod requests;

use std::path::Path;

use crate::support::{Place, repository};

/// Returns README.md and the pages of docs/ as (path from the root, text). Sample pages are excluded.
fn pages() -> Vec<(String, String)> {
    let docs = std::fs::read_dir(repository().join("docs")).expect("docs/");
    let names = docs.map(|entry| format!("docs/{}", entry.expect("an entry").file_name().to_string_lossy()));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.push("README.md".into());
    names.sort();
    let read = |name: &String| std::fs::read_to_string(repository().join(name)).expect("a page");
    names.iter().map(|name| (name.clone(), read(name))).collect()
}

struct Fence {
    /// Page and line, such as `docs/presets.md:12`.
    place: String,
    /// Info string after the opening backticks.
    info: String,
    text: String,
}

fn fences(page: &str, text: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<(usize, &str, Fence)> = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        // A fence ends at a fence of equal length, so it can contain shorter ones.
        let (mark, info) = bare.split_at(bare.len() - bare.trim_start_matches('`').len());
        match &mut open {
            None if mark.len() >= 3 => {
                let place = format!("{page}:{}", index + 1);
                open =
                    Some((indent, mark, Fence { place, info: info.trim().to_owned(), text: String::new() }));
            }
            None => {}
            Some((_, opened, _)) if mark == *opened && info.is_empty() => {
                fences.extend(open.take().map(|(_, _, fence)| fence));
            }
            Some((indent, _, fence)) => {
                fence.text.push_str(line.get(*indent..).unwrap_or(bare));
                fence.text.push('\n');
            }
        }
    }
    assert!(open.is_none(), "{page}: a fence is not closed");
    fences
}

fn all_fences() -> Vec<Fence> {
    pages().iter().flat_map(|(page, text)| fences(page, text)).collect()
}

#[test]
fn every_configuration_in_the_docs_is_valid() {
    let place = Place::with("", &[]);
    let examples = all_fences().into_iter().filter(|fence| fence.info == "toml");
    let mut seen = 0;
    for example in examples {
        let file = place.write("example.toml", &example.text);
        let mut command = place.command(&["presets", "list", "--config", file.to_str().expect("UTF-8")]);
        // Engines read these variables at the start, but connect only on use.
        command.env("DATABASE_URL", "postgres://reader@127.0.0.1/example").env("NEO4J_PASSWORD", "example");
        let ran = command.output().expect("run gatehouse");
        assert!(ran.status.success(), "{}: {}", example.place, String::from_utf8_lossy(&ran.stderr));
        seen += 1;
    }
    assert!(seen > 0, "README.md and docs/ show no configuration");
}

#[test]
fn every_fragment_in_the_docs_is_toml() {
    for example in all_fences().into_iter().filter(|fence| fence.info.starts_with("toml")) {
        let known = ["toml", "toml fragment"].contains(&example.info.as_str());
        assert!(known, "{}: ```{} is neither a configuration nor a fragment", example.place, example.info);
        let parsed = example.text.parse::<toml::Table>();
        assert!(parsed.is_ok(), "{}: {}", example.place, parsed.expect_err("an error"));
    }
}

/// Returns link targets outside code, with their line numbers.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut code = false;
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        code ^= line.trim_start().starts_with("```");
        let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(targets.filter(|_| !code).map(|(target, _)| (index + 1, target.to_owned())));
    }
    links
}

fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let heading = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-"));
    heading.map(|text| text.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect()).collect()
}

#[test]
fn every_link_leads_somewhere() {
    for (page, text) in pages() {
        for (line, link) in
            links(&text).iter().filter(|(_, link)| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = repository().join(Path::new(&page).parent().expect("a folder"));
            let target = if path.is_empty() { repository().join(&page) } else { folder.join(path) };
            assert!(target.exists(), "{page}:{line}: '{link}' leads nowhere");
            if !anchor.is_empty() && target.extension().is_some_and(|extension| extension == "md") {
                let there = std::fs::read_to_string(&target).expect("a page");
                assert!(
                    anchors(&there).iter().any(|known| known == anchor),
                    "{page}:{line}: '{link}' has no such heading"
                );
            }
        }
    }
}

/// Extracts calls of the binary from a block of shell, each as its arguments.
fn calls(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let commands = joined.lines().flat_map(|line| line.split(['|', ';', '&', '(', ')', '`']));
    commands.filter_map(call).collect()
}

/// Parses one call of the binary. `$ MCP_PRESET=full gatehouse serve`, `claude mcp add gatehouse -- gatehouse serve`
/// and `cargo xtask run -- serve` all call `gatehouse serve`.
fn call(command: &str) -> Option<Vec<String>> {
    let command = command.split(" #").next().unwrap_or_default();
    let words: Vec<&str> = command.split_whitespace().collect();
    let is_binary = |word: &str| word == "gatehouse" || word.ends_with("/gatehouse");
    let is_prefix =
        |word: &&str| *word == "$" || word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
    let start = words.iter().take_while(|word| is_prefix(word)).count();
    let arguments = if words.get(start).is_some_and(|word| is_binary(word)) {
        &words[start + 1..]
    } else if words[start..].starts_with(&["cargo", "xtask", "run", "--"]) {
        &words[start + 4..]
    } else {
        let dashes = words.iter().position(|word| *word == "--")?;
        words.get(dashes + 1).filter(|word| is_binary(word))?;
        &words[dashes + 2..]
    };
    let arguments =
        arguments.iter().take_while(|word| !word.starts_with(['>', '<']) && !word.starts_with("2>"));
    Some(arguments.map(|word| word.trim_matches(['"', '\'']).to_owned()).collect())
}

/// Extracts calls from inline code, such as `gatehouse kg search QUERY [--top-k N]`.
fn mentioned(text: &str) -> Vec<Vec<String>> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let calls = spans.filter_map(|span| span.strip_prefix("gatehouse "));
    let words = |call: &str| {
        call.split_whitespace().map(|word| word.trim_matches(['[', ']', '…']).to_owned()).collect()
    };
    calls.map(words).collect()
}

fn check_call(place: &Place, page: &str, arguments: &[String]) {
    let label = format!("{page}: gatehouse {}", arguments.join(" "));
    let is_command = |word: &&String| word.starts_with(|c: char| c.is_ascii_lowercase());
    let mut help = place.run(&["help"]).stdout();
    let mut command = vec!["help"];
    for word in arguments.iter().take_while(is_command) {
        if !help.contains("\nCommands:\n") {
            break;
        }
        // `gates list|inspect` means two commands; check the first.
        command.push(word.split('|').next().unwrap_or(word));
        let ran = place.run(&command);
        assert_eq!(ran.code(), 0, "{label}: {}", ran.stderr());
        help = ran.stdout();
    }
    for flag in arguments.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
        let name = flag.split('=').next().unwrap_or(flag);
        assert!(help.contains(name), "{label}: '{name}' is not in the help");
    }
}

#[test]
fn every_command_in_the_docs_exists() {
    let place = Place::with("", &[]);
    let shell = |fence: &Fence| ["sh", "console", "bash"].contains(&fence.info.as_str());
    let fences = all_fences().into_iter().filter(shell);
    let mut commands: Vec<_> = fences
        .flat_map(|fence| calls(&fence.text).into_iter().map(move |call| (fence.place.clone(), call)))
        .collect();
    for (page, text) in pages() {
        commands.extend(mentioned(&text).into_iter().map(|call| (page.clone(), call)));
    }
    assert!(commands.len() > 10, "README.md and docs/ show no command");
    for (page, arguments) in commands {
        check_call(&place, &page, &arguments);
    }
}

/// Collects all Rust code of a folder, with string continuations joined.
fn code(folder: &Path, all: &mut String) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            code(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("code");
            for part in text.split("\\\n") {
                all.push_str(part.trim_start());
            }
        }
    }
}

#[test]
fn every_message_that_troubleshooting_explains_exists() {
    let mut all = String::new();
    code(&repository().join("host"), &mut all);
    code(&repository().join("gates"), &mut all);
    let page = std::fs::read_to_string(repository().join("docs/troubleshooting.md")).expect("a page");
    let mut seen = 0;
    for message in page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()) {
        // `…` represents names and numbers, which the code may put in quotation marks.
        for part in message.split('…').map(|part| part.trim_matches([' ', '\'', '.'])) {
            assert!(all.contains(part), "no message has '{part}' of '{message}'");
        }
        seen += 1;
    }
    assert!(seen > 45, "{seen}");
}

#[test]
fn the_clients_of_the_docs_are_those_that_are_installed() {
    let read =
        |path: &str| std::fs::read_to_string(repository().join(path)).expect("a file of the repository");
    let (pins, page) = (read("xtask/src/tools/pins.rs"), read("docs/protocol.md"));
    let versions = |after: &str, until: &str| -> Vec<String> {
        let from = pins.split_once(after).expect("the pins").1;
        let pins = from.split_once(until).expect("their end").0;
        let pinned = pins.split('"').skip(1).step_by(2).filter_map(|pin| pin.rsplit_once(['=', '@']));
        pinned.map(|(_, version)| version.to_owned()).collect()
    };
    let clients = versions("pub(crate) const CLIENTS", "];");
    assert!(clients.len() > 10, "{clients:?}");
    let suites = versions("pub(crate) const NODE_CLIENTS", "};")
        .into_iter()
        .chain(versions("pub(crate) const CONFORMANCE_2026", ";"));
    for version in clients.into_iter().chain(suites) {
        assert!(page.contains(&version), "docs/protocol.md does not name {version}");
    }
}
