//! Removes a gate from `presets.toml`: its block, and every line of a preset that names it.

use toml_edit::{DocumentMut, Item};

use super::{ConfigEdit, ConfigError, ConfigText, Env, parse, validate};
use crate::config::keys::dotted;

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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn every_table_syntax_is_understood() {
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
}
