//! docs/architecture.md matches the folders, and code uses its terms.

use super::{between, files, modules, none, read, snake};
use crate::support::repository;

const MAP: &str = "docs/architecture.md";

fn quoted(text: &str) -> Vec<&str> {
    let spans = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    spans.collect()
}

/// Returns the paths in the map; a bare `x.rs` is next to the path at the start of its line.
fn shown(map: &str) -> Vec<String> {
    let lines = map.lines().flat_map(|line| {
        let spans = quoted(line);
        let folder = spans.first().and_then(|path| path.rsplit_once('/')).map(|(folder, _)| folder);
        let whole = |span: &&str| match folder {
            Some(folder) if span.ends_with(".rs") && !span.contains('/') => format!("{folder}/{span}"),
            _ => span.trim_end_matches('/').to_owned(),
        };
        spans.iter().map(whole).collect::<Vec<_>>()
    });
    lines.collect()
}

#[test]
fn the_map_shows_every_room() {
    let shown = shown(&read(MAP));
    let crates: Vec<String> = modules("host").into_iter().map(|name| format!("host/{name}")).collect();
    let folders = files("host", ".rs").into_iter().filter_map(|(path, _)| {
        let (source, rest) = path.split_once("/src/")?;
        let (folder, file) = rest.split_once('/')?;
        (file != "tests.rs").then(|| format!("{source}/src/{folder}"))
    });
    let mut folders: Vec<String> = folders.collect();
    folders.dedup();
    let missing = crates.into_iter().chain(folders).filter(|path| !shown.contains(path));
    none(
        "docs/architecture.md names every crate and every folder of modules of the host in backticks",
        missing,
    );
}

#[test]
fn the_map_shows_no_missing_room() {
    let map = read(MAP);
    let rooms = ["host", "gates", "tests", "docs", "wit", "xtask", "packaging", "fuzz"];
    let paths = quoted(&map)
        .into_iter()
        .filter(|span| span.split_once('/').is_some_and(|(top, _)| rooms.contains(&top)));
    let paths = paths.filter(|span| !span.contains(['<', '*', '{', '…', ' ']));
    let missing = paths.filter(|path| !repository().join(path).exists());
    none("paths in docs/architecture.md exist (a placeholder is written <so>)", missing.map(str::to_owned));
}

#[test]
fn one_idea_has_one_word() {
    let map = read(MAP);
    let table = between(MAP, &map, "\n## Words", "\n## ");
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    let cells = rows.filter_map(|row| row.trim_matches('|').split('|').nth(2));
    let words =
        cells.flat_map(|cell| cell.split(',')).map(|word| word.trim().trim_matches('`').to_lowercase());
    let words: Vec<String> = words.filter(|word| !word.is_empty() && word != "-").collect();
    assert!(words.len() > 5, "{MAP}: ## Words has no table with the columns word | means | not");
    let used = files("host", ".rs").into_iter().flat_map(|(path, text)| {
        let wrong = types(&text).filter(|name| {
            let parts = snake(name);
            parts.split('_').any(|part| words.iter().any(|word| word == part))
        });
        wrong.map(|name| format!("{path}: '{name}'")).collect::<Vec<_>>()
    });
    none("no type is named with a word that the glossary replaces", used);
}

fn types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let line =
            line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub(super) ")).unwrap_or(line);
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let name = ["struct ", "enum ", "trait "].iter().find_map(|keyword| line.strip_prefix(keyword))?;
        name.split(|c: char| !c.is_alphanumeric()).next()
    })
}
