//! Style rules as tests of the source code.
//!
//! Each check is a table and a loop. A failure names the file and the rule.

mod english;
mod lists;
mod map;
mod repeats;
mod source;
mod walls;

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::repository;

/// Returns every file below a folder whose name has this ending, as (path from the root, text), sorted. Skips folders
/// of cargo and git.
fn files(folder: &str, ending: &str) -> Vec<(String, String)> {
    let root = repository();
    let mut paths = Vec::new();
    collect(&root.join(folder), &mut paths);
    paths.sort();
    let wanted = paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
    wanted
        .filter_map(|path| {
            let name =
                path.strip_prefix(&root).expect("inside the repository").to_string_lossy().into_owned();
            Some((name, fs::read_to_string(&path).ok()?))
        })
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !path.is_symlink() {
            if !["target", ".git"].contains(&&*name) {
                collect(&path, into);
            }
        } else if path.is_file() {
            into.push(path);
        }
    }
}

fn rust() -> Vec<(String, String)> {
    ["host", "gates", "fuzz", "packaging", "xtask", "tests"]
        .into_iter()
        .flat_map(|folder| files(folder, ".rs"))
        .collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn between<'a>(path: &str, text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap_or_else(|| panic!("{path}: '{start}' is not there"));
    rest.split_once(end).unwrap_or_else(|| panic!("{path}: no '{end}' after '{start}'")).0
}

fn none(rule: &str, broken: impl IntoIterator<Item = String>) {
    let broken: Vec<String> = broken.into_iter().collect();
    assert!(broken.is_empty(), "{rule}:\n  {}\n", broken.join("\n  "));
}

/// Normalizes `allowed-tools`, `allowed_tools` and `AllowedTools` to one name.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(if letter == '-' { '_' } else { letter }.to_lowercase());
    }
    snake
}

fn modules(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(repository().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let stems = entries.filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()));
    let mut modules: Vec<String> =
        stems.filter(|stem| !["mod", "lib", "main"].contains(&stem.as_str())).collect();
    modules.sort();
    modules.dedup();
    modules
}
