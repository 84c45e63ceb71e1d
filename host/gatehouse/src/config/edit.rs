//! Edits of `presets.toml` by commands. Formatting and unrelated content stay unchanged.

mod servers;
mod values;

use std::fs;

use gatehouse_files::{sweep, write_atomic};
use similar::{ChangeTag, TextDiff};
use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{Config, ConfigError, ConfigText, Env, PlainError, keys::dotted, trust};
pub(crate) use servers::{add_servers, remove_server, server_block};
pub(crate) use values::{edit_list, set_values};

/// A validated change of `presets.toml` that is not yet written.
pub(crate) struct ConfigEdit<'a> {
    text: &'a ConfigText,
    content: String,
}

/// Sets the component of a gate and its digest. Fails if the result is not a valid configuration with that digest.
pub(crate) fn set_component<'a>(
    text: &'a ConfigText,
    gate: &str,
    component: &str,
    sha256: &str,
    env: &Env,
) -> Result<ConfigEdit<'a>, ConfigError> {
    let mut document = parse(text)?;
    insert_component(&mut document, gate, component, sha256).map_err(|reason| text.error(reason))?;
    let (change, config) = validate(text, &document, env)?;
    match config.gates.get(gate) {
        Some(gate) if gate.settings.sha256.as_deref() == Some(sha256) => Ok(change),
        _ => Err(text.error(format!("was not changed: its structure does not allow adding [gates.{gate}]"))),
    }
}

/// Returns the edit and the removed keys, in dotted form. Fails if the rest is not a valid configuration.
pub(crate) fn remove_gate<'a>(
    text: &'a ConfigText,
    name: &str,
    env: &Env,
) -> Result<(ConfigEdit<'a>, Vec<String>), ConfigError> {
    let mut document = parse(text)?;
    let presets: Vec<String> = document
        .get("presets")
        .and_then(Item::as_table_like)
        .map(|presets| presets.iter().map(|(preset, _)| preset.to_owned()).collect())
        .unwrap_or_default();
    let mut paths = vec![vec!["gates", name]];
    for preset in &presets {
        paths.push(vec!["presets", preset, "gates", name]);
        paths.push(vec!["presets", preset, "filters", name]);
    }
    paths.retain(|path| remove_item(&mut document, path));
    let (change, _) = validate(text, &document, env)?;
    Ok((change, paths.iter().map(|path| dotted(path)).collect()))
}

/// Removes the item at `path`. Returns whether it existed.
fn remove_item(document: &mut DocumentMut, path: &[&str]) -> bool {
    let Some((name, above)) = path.split_last() else { return false };
    let mut item = document.as_item_mut();
    for step in above {
        match item.as_table_like_mut().and_then(|table| table.get_mut(step)) {
            Some(below) => item = below,
            None => return false,
        }
    }
    item.as_table_like_mut().is_some_and(|table| table.remove(name).is_some())
}

impl ConfigEdit<'_> {
    /// Returns the changed text.
    pub(crate) fn text(&self) -> ConfigText {
        ConfigText { file: self.text.file.clone(), content: self.content.clone() }
    }

    pub(crate) fn has_changes(&self) -> bool {
        self.content != self.text.content
    }

    /// Writes the file. A trusted file stays trusted.
    pub(crate) fn write_trusted(self, config: &Config) -> Result<(), ConfigError> {
        let file = self.text.file.as_ref().filter(|_| config.choice.by_trust);
        let written = self.write()?;
        file.map_or(Ok(()), |file| trust::add(file, written.as_bytes()))
    }

    /// Replaces the file atomically and returns its new content. If the path is a link, replaces its target.
    fn write(self) -> Result<String, ConfigError> {
        let Self { text, content } = &self;
        if !self.has_changes() {
            return Ok(self.content);
        }
        let file =
            text.file.as_ref().ok_or_else(|| text.error("is part of the program and cannot be changed"))?;
        let failed = |error: std::io::Error| text.error(format!("cannot be written: {error}"));
        if fs::read(file).map_err(failed)? != text.content.as_bytes() {
            return Err(text.error("was changed by another program; run the command again"));
        }
        // Remove temporary files of commands that were killed.
        file.parent().map(sweep);
        write_atomic(file, content.as_bytes()).map_err(failed)?;
        Ok(self.content)
    }
}

fn parse(text: &ConfigText) -> Result<DocumentMut, ConfigError> {
    text.check_nesting()?;
    text.content.parse().map_err(|error: toml_edit::TomlError| {
        match toml::from_str::<toml::Table>(&text.content) {
            Err(error) => text.parse_error(&error),
            Ok(_) => text.error(error),
        }
    })
}

/// Fails if the document is not a valid configuration.
fn validate<'a>(
    text: &'a ConfigText,
    document: &DocumentMut,
    env: &Env,
) -> Result<(ConfigEdit<'a>, Config), ConfigError> {
    let content = with_line_ends(&text.content, document.to_string());
    let changed = ConfigText { file: text.file.clone(), content };
    let config = Config::parse(&changed, env).map_err(|error| {
        text.error(format!("was not changed, because the result would be invalid: {error}"))
    })?;
    Ok((ConfigEdit { text, content: changed.content }, config))
}

/// Restores the line ends of `before`, which `toml_edit` normalizes. New lines get the ones that most lines have.
fn with_line_ends(before: &str, after: String) -> String {
    if !before.contains('\r') {
        return after;
    }
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let (plain, after) = (before.replace("\r\n", "\n"), after.replace("\r\n", "\n"));
    let diff = TextDiff::from_lines(&plain, &after);
    let restored = diff.iter_all_changes().map(|change| match (change.tag(), change.old_index()) {
        (ChangeTag::Delete, _) => String::new(),
        (_, Some(line)) => lines[line].to_owned(),
        (_, None) => change.value().replace('\n', line_end(before)),
    });
    restored.collect()
}

/// Returns the line end that most lines of a text have.
pub(crate) fn line_end(text: &str) -> &'static str {
    if text.matches("\r\n").count() * 2 > text.matches('\n').count() { "\r\n" } else { "\n" }
}

fn implicit_table() -> Item {
    let mut table = Table::new();
    table.set_implicit(true);
    Item::Table(table)
}

fn insert_component(
    document: &mut DocumentMut,
    gate: &str,
    component: &str,
    sha256: &str,
) -> Result<(), PlainError> {
    let gates = document.entry("gates").or_insert_with(implicit_table);
    let is_inline = gates.is_inline_table();
    let gates = gates.as_table_like_mut().ok_or("has a `gates` that is not a table")?;
    let block = gates.entry(gate).or_insert_with(|| match is_inline {
        true => Item::Value(Value::InlineTable(InlineTable::new())),
        false => Item::Table(Table::new()),
    });
    let block =
        block.as_table_like_mut().ok_or_else(|| format!("has a `gates.{gate}` that is not a table"))?;
    set(block, "component", component);
    set(block, "sha256", sha256);
    Ok(())
}

/// Sets a key. An existing key keeps its place and comment.
fn set(block: &mut dyn TableLike, key: &str, text: &str) {
    match block.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) if old.as_str() == Some(text) => {}
        Some(old) => {
            let decor = old.decor().clone();
            *old = Value::from(text);
            *old.decor_mut() = decor;
        }
        None => drop(block.insert(key, Item::Value(Value::from(text)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(text: &str) -> Result<String, PlainError> {
        let mut document: DocumentMut = text.parse().expect("TOML");
        insert_component(&mut document, "weather", "w.wasm", "ab").map(|()| document.to_string())
    }

    fn edited(text: &str) -> String {
        insert(text).expect("edited")
    }

    const BLOCK: &str = "[gates.weather]\ncomponent = \"w.wasm\"\nsha256 = \"ab\"\n";

    #[test]
    fn a_new_block_is_added_and_nothing_else_changes() {
        assert_eq!(edited(""), BLOCK);
        let before = "# top\n[host]\ngates = [ \"gates\" ]   # odd  spacing\n\n[gates.kg] # mine\ngrants = [\"knowledge\"]\n";
        let after = "\n# presets\n[presets.full]\ngates.kg = {}\n# end\n";
        let result = edited(&format!("{before}{after}"));
        assert_eq!(result.replace(&format!("\n{BLOCK}"), ""), format!("{before}{after}"), "{result}");
        assert!(result.contains("\n[gates.weather]\n"), "{result}");
    }

    #[test]
    fn an_existing_block_retains_other_keys() {
        let text = "[gates.weather] # sunny\n# why\ngrants = []\nsha256 = \"00\" # pin\ncomponent = 'old.wasm'\n[presets]\n";
        let wanted = "[gates.weather] # sunny\n# why\ngrants = []\nsha256 = \"ab\" # pin\ncomponent = \"w.wasm\"\n[presets]\n";
        assert_eq!(edited(text), wanted);
        assert_eq!(edited(wanted), wanted, "twice is once");
    }

    #[test]
    fn every_table_syntax_is_understood() {
        for text in [
            "[gates]\nweather = { grants = [] }\n",
            "gates = { kg = {} }\n",
            "gates.kg.grants = []\n",
            "gates.weather.grants = []\n",
            "[gates]\nkg.grants = []\n",
            "[presets.x]\n[gates.weather.limits]\ntime = \"1 s\"\n",
        ] {
            let result = edited(text);
            let table: toml::Table = result.parse().unwrap_or_else(|error| panic!("{result}: {error}"));
            assert_eq!(table["gates"]["weather"]["sha256"].as_str(), Some("ab"), "{result}");
            assert_eq!(edited(&result), result, "twice is once");
        }
        assert!(insert("gates = 5").is_err());
        assert!(insert("gates.weather = 5").is_err());
    }

    fn removed(content: &str) -> (String, Vec<String>) {
        let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
        let (change, taken) = remove_gate(&text, "weather", &Env::default()).expect("a change");
        (change.content, taken)
    }

    #[test]
    fn removing_a_gate_removes_each_line_that_names_it() {
        let before = "# top\n[host]\ngates = [\"g\"] # odd\n\n";
        let block = "[gates.weather]\ngrants = []\n\n[gates.weather.http]\n\"a.example\" = {}\n\n";
        let after = "[gates.kg]\n\n[presets.full]\ndescription = \"x\" # mine\ngates.kg = {}\n";
        let lines = "gates.weather = { units = \"metric\" }\nfilters.weather = [\"*\"]\n";
        let (left, taken) = removed(&format!("{before}{block}{after}{lines}"));
        assert_eq!(left, format!("{before}{after}"));
        let paths = ["gates.weather", "presets.full.gates.weather", "presets.full.filters.weather"];
        assert_eq!(taken, paths);
        assert_eq!(removed(&left), (left.clone(), Vec::new()), "twice is once");
    }

    #[test]
    fn a_gate_is_removed_from_every_table_syntax() {
        for text in [
            "gates = { weather = {}, kg = {} }\n",
            "gates.weather.grants = []\n",
            "[presets.a.gates]\nweather = {}\n",
            "[presets.a.gates.weather]\n",
            "[presets]\na = { gates = { weather = {} } }\n",
        ] {
            let (left, taken) = removed(text);
            assert!(!left.contains("weather") && taken.len() == 1, "{text}: {left}");
        }
    }

    #[test]
    fn line_ends_stay() {
        let change = |content: &str| {
            let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
            let sha256 = "ab".repeat(32);
            set_component(&text, "weather", "w.wasm", &sha256, &Env::default()).expect("a change").content
        };
        let block = format!("\n[gates.weather]\ncomponent = \"w.wasm\"\nsha256 = \"{}\"\n", "ab".repeat(32));
        let before = "# top\n[gates.kg] # mine\ngrants = [\n  \"knowledge\",\n]\n";
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(change(before), format!("{before}{block}"));
        assert_eq!(change(&crlf(before)), crlf(&format!("{before}{block}")));
        let mixed = before.replacen('\n', "\r\n", 2);
        assert_eq!(change(&mixed), format!("{mixed}{block}"), "new lines have the line end of most");
    }
}
