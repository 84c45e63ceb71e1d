//! Generates a guide from the content only. The result is deterministic.

use std::collections::BTreeMap;

use gatehouse_core::{
    FaultKind,
    outcome::Fault,
    ports::documents::{DocumentStore, Repository},
};
use gatehouse_decode::prefix;
use gatehouse_text::split_list;
use serde_json::Value;

use super::{
    facts::{GuideFacts, first_sentence, repository_terms},
    form::GuideParts,
};
use crate::clean::one_line;

/// Prefixes of document names to read first, best first.
const KEY_NAMES: [&str; 16] = split_list(
    "readme|index|overview|introduction|intro|getting|quickstart|tutorial|guide|architecture|design|\
    install|usage|faq|changelog|contributing",
);

/// Returns the descriptions in the readme and manifests.
pub(super) async fn about(
    store: &dyn DocumentStore,
    name: &str,
    paths: &[String],
) -> Result<Vec<String>, Fault> {
    let at_top = |path: &&String| !path.contains('/');
    let readme = paths.iter().filter(at_top).find(|path| path.to_lowercase().starts_with("readme"));
    let mut descriptions = Vec::new();
    if let Some(text) = read(store, name, readme).await? {
        descriptions.push(first_sentence(&text, false));
    }
    for manifest in ["Cargo.toml", "package.json", "pyproject.toml"] {
        let path = paths.iter().find(|path| *path == manifest);
        if let Some(text) = read(store, name, path).await? {
            descriptions.push(one_line(&description(manifest, &text), 300));
        }
    }
    descriptions.retain(|text| !text.is_empty());
    descriptions.dedup();
    Ok(descriptions)
}

/// Returns `None` if the document does not exist. Another run may have removed it.
async fn read(store: &dyn DocumentStore, name: &str, path: Option<&String>) -> Result<Option<String>, Fault> {
    let Some(path) = path else { return Ok(None) };
    match store.read(name, path, None).await {
        Ok(document) => Ok(Some(document.text)),
        Err(fault) if fault.kind == FaultKind::NotFound => Ok(None),
        Err(fault) => Err(fault),
    }
}

fn description(manifest: &str, text: &str) -> String {
    if manifest.ends_with(".json") {
        let value: Value = serde_json::from_str(text).unwrap_or_default();
        return value["description"].as_str().unwrap_or_default().to_owned();
    }
    let mut in_section = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_section = line == "[package]" || line == "[project]";
        } else if in_section
            && let Some((key, value)) = line.split_once('=')
            && key.trim() == "description"
        {
            return value.trim().trim_matches(['"', '\'']).to_owned();
        }
    }
    String::new()
}

pub(super) fn parts(
    repository: &Repository,
    paths: &[String],
    facts: &[GuideFacts],
    purpose: Vec<String>,
) -> GuideParts {
    let (words, names) = repository_terms(facts);
    let key = key_documents(facts);
    let wanted_queries = queries(&key, &words, &names);
    let kind = repository.kind.as_deref().unwrap_or("mixed");
    let from = repository.url.as_ref().map(|url| format!(" From {url}.")).unwrap_or_default();
    let commit = repository.commit.as_ref().map(|commit| format!(" Commit {}.", prefix(commit, 12)));
    let subjects: Vec<&str> = words.iter().chain(&names).take(8).map(String::as_str).collect();
    let when = match subjects.as_slice() {
        [] => Vec::new(),
        subjects => vec![format!("Questions about {}.", subjects.join(", "))],
    };
    GuideParts {
        name: repository.name.clone(),
        facts: format!("{} ({kind}).{from}{}", documents(paths.len()), commit.unwrap_or_default()),
        purpose,
        when,
        layout: layout(paths),
        key: key.iter().map(|facts| (facts.path.clone(), line(facts))).collect(),
        words,
        names,
        wanted_queries,
        queries: Vec::new(),
    }
}

fn line(facts: &GuideFacts) -> String {
    match (facts.title.as_str(), facts.first_sentence.as_str()) {
        (title, "") => title.to_owned(),
        ("", begins) => begins.to_owned(),
        (title, begins) if facts.is_code => format!("{begins} ({title})"),
        (title, begins) => format!("{title}. {begins}"),
    }
}

fn documents(count: usize) -> String {
    if count == 1 { "1 document".to_owned() } else { format!("{count} documents") }
}

/// Lists directories, up to two levels deep, with their document counts.
fn layout(paths: &[String]) -> Vec<(String, String)> {
    let mut folders: BTreeMap<String, (usize, BTreeMap<&str, usize>)> = BTreeMap::new();
    for path in paths {
        let parts: Vec<&str> = path.split('/').collect();
        let extension =
            parts.last().and_then(|name| name.rsplit_once('.')).map_or("none", |(_, extension)| extension);
        for depth in 1..parts.len().min(3) {
            let folder = folders.entry(parts[..depth].join("/") + "/").or_default();
            folder.0 += 1;
            *folder.1.entry(extension).or_default() += 1;
        }
        if parts.len() == 1 {
            let top = folders.entry("./".to_owned()).or_default();
            top.0 += 1;
            *top.1.entry(extension).or_default() += 1;
        }
    }
    let least = if folders.len() > 30 { nth_largest(folders.values().map(|folder| folder.0), 30) } else { 0 };
    let lines =
        folders.into_iter().filter(|(_, (count, _))| *count >= least).map(|(folder, (count, extensions))| {
            let mut extensions: Vec<(&str, usize)> = extensions.into_iter().collect();
            extensions.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let frequent: Vec<String> =
                extensions.iter().take(3).map(|(name, count)| format!("{count} {name}")).collect();
            (folder, format!("{} ({})", documents(count), frequent.join(", ")))
        });
    lines.take(30).collect()
}

fn nth_largest(counts: impl Iterator<Item = usize>, nth: usize) -> usize {
    let mut counts: Vec<usize> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.get(nth - 1).copied().unwrap_or_default()
}

/// Returns the documents to read first.
fn key_documents(facts: &[GuideFacts]) -> Vec<&GuideFacts> {
    let rank = |facts: &GuideFacts| {
        let name = facts.path.rsplit('/').next().unwrap_or_default().to_lowercase();
        let named = KEY_NAMES.iter().position(|first| name.starts_with(first));
        let depth = facts.path.matches('/').count();
        let missing = usize::from(facts.title.is_empty()) + usize::from(facts.first_sentence.is_empty());
        // Code files such as index.js are not an introduction.
        let named =
            named.filter(|_| !facts.is_code).unwrap_or(KEY_NAMES.len() + usize::from(facts.is_code) * 2);
        (depth + missing * 2 + named / 3, usize::MAX - facts.headings.len())
    };
    let mut key: Vec<&GuideFacts> = facts.iter().filter(|facts| !line(facts).is_empty()).collect();
    key.sort_by_cached_key(|facts| (rank(facts), facts.path.clone()));
    key.truncate(20);
    key
}

/// Returns queries to try, from headings, identifiers and pairs of words.
fn queries(key: &[&GuideFacts], words: &[String], names: &[String]) -> Vec<String> {
    let headings = key.iter().flat_map(|facts| std::iter::once(&facts.title).chain(&facts.headings).take(3));
    let headings = headings.filter(|title| (2..=7).contains(&title.split_whitespace().count()));
    let pairs = words.chunks(2).map(|pair| pair.join(" "));
    let plain = |text: &String| {
        let plain_text: String =
            text.chars().map(|c| if c.is_alphanumeric() || "_-".contains(c) { c } else { ' ' }).collect();
        one_line(&plain_text, 60).to_lowercase()
    };
    let mut queries: Vec<String> = headings.take(24).map(plain).collect();
    queries.extend(names.iter().take(4).cloned());
    queries.extend(pairs.take(8));
    queries.retain(|query| !query.is_empty());
    queries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_describe() {
        assert_eq!(
            description("Cargo.toml", "[lib]\ndescription = \"no\"\n[package]\ndescription = \"A tool\"\n"),
            "A tool"
        );
        assert_eq!(description("package.json", r#"{"description": "B"}"#), "B");
        assert_eq!(description("package.json", "{"), "");
    }

    #[test]
    fn layout_counts_directories_two_levels_deep() {
        let paths = ["README.md", "docs/a.md", "docs/b/c.md", "docs/b/d/e.rst"].map(str::to_owned);
        let lines = layout(&paths);
        let lines: Vec<String> = lines.into_iter().map(|(folder, what)| format!("{folder} {what}")).collect();
        assert_eq!(
            lines,
            ["./ 1 document (1 md)", "docs/ 3 documents (2 md, 1 rst)", "docs/b/ 2 documents (1 md, 1 rst)"]
        );
    }
}
