//! Sets single values of `presets.toml`, and adds entries of a list or removes them.

use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

use super::{ConfigEdit, ConfigError, ConfigText, Env, implicit_table, parse, remove_item, validate};

/// Sets the values at these paths, or removes those without a value. Missing tables are created. Fails if the result is
/// not a valid configuration.
pub(crate) fn set_values<'a>(
    text: &'a ConfigText,
    values: &[(&[&str], Option<Value>)],
    env: &Env,
) -> Result<ConfigEdit<'a>, ConfigError> {
    let mut document = parse(text)?;
    for (path, value) in values {
        let Some(value) = value else {
            remove_item(&mut document, path);
            continue;
        };
        let (table, key) = table_of(text, &mut document, path)?;
        match table.get_mut(key).and_then(Item::as_value_mut) {
            Some(old) => {
                let decor = old.decor().clone();
                *old = value.clone();
                *old.decor_mut() = decor;
            }
            None => drop(table.insert(key, Item::Value(value.clone()))),
        }
    }
    Ok(validate(text, &document, env)?.0)
}

/// Adds entries to the list of texts at a path, and removes others. The remaining entries keep their places and
/// comments. Fails if the result is not a valid configuration.
pub(crate) fn edit_list<'a>(
    text: &'a ConfigText,
    path: &[&str],
    (added, removed): (&[String], &[String]),
    env: &Env,
) -> Result<ConfigEdit<'a>, ConfigError> {
    let mut document = parse(text)?;
    let (table, key) = table_of(text, &mut document, path)?;
    if !table.contains_key(key) {
        table.insert(key, Item::Value(Array::new().into()));
    }
    let shape = || text.error(format!("was not changed: {} is no list", path.join(".")));
    let list = table.get_mut(key).and_then(Item::as_array_mut).ok_or_else(shape)?;
    let names = |value: &Value, names: &[String]| {
        value.as_str().is_some_and(|text| names.iter().any(|name| name == text))
    };
    list.retain(|value| !names(value, removed));
    for name in
        added.iter().filter(|name| !list.iter().any(|value| value.as_str() == Some(name))).collect::<Vec<_>>()
    {
        list.push(name.as_str());
    }
    if list.is_empty() {
        table.remove(key);
    }
    Ok(validate(text, &document, env)?.0)
}

/// Returns the table of a path and the last key.
fn table_of<'a, 'p>(
    text: &ConfigText,
    document: &'a mut DocumentMut,
    path: &[&'p str],
) -> Result<(&'a mut dyn TableLike, &'p str), ConfigError> {
    let shape =
        || text.error(format!("was not changed: its structure does not allow setting {}", path.join(".")));
    let (key, above) = path.split_last().ok_or_else(shape)?;
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for step in above {
        table = table.entry(step).or_insert_with(implicit_table).as_table_like_mut().ok_or_else(shape)?;
    }
    Ok((table, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(content: &str) -> ConfigText {
        ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() }
    }

    const FILE: &str = "# top\n[servers.git]\ncommand = \"git\" # mine\n\n[presets.a] # first\ngates.kg = {}\ndeny = [\n    \"kg_edit\", # never\n]\n";

    #[test]
    fn values_are_set_and_removed_and_comments_stay() {
        let env = Env::default();
        let set = |content: &str, path: &[&str], value| {
            set_values(&text(content), &[(path, value)], &env).expect("edited").content
        };
        let off = set(FILE, &["servers", "git", "enabled"], Some(false.into()));
        assert_eq!(off, FILE.replace("# mine\n", "# mine\nenabled = false\n"));
        assert_eq!(set(&off, &["servers", "git", "enabled"], None), FILE);
        let path = ["presets", "a", "tools", "search_knowledge", "description"];
        let described = set(FILE, &path, Some("Finds pages.".into()));
        assert!(described.starts_with(FILE.trim_end()), "{described}");
        assert!(described.contains("description = \"Finds pages.\""), "{described}");
        assert!(
            set_values(&text(FILE), &[(&["servers", "git", "enabled"][..], Some(1.into()))], &env).is_err()
        );
    }

    #[test]
    fn entries_of_a_list_are_added_and_removed() {
        let env = Env::default();
        let edit = |content: &str, added: &[&str], removed: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
            let change = (&*owned(added), &*owned(removed));
            edit_list(&text(content), &["presets", "a", "deny"], change, &env).expect("edited").content
        };
        let more = edit(FILE, &["gate:kg.kg_index", "kg_edit"], &[]);
        assert!(
            more.contains("\"kg_edit\"") && more.contains("# never") && more.contains("\"gate:kg.kg_index\""),
            "{more}"
        );
        assert_eq!(more.matches("kg_edit").count(), 1, "{more}");
        let none = edit(FILE, &[], &["kg_edit"]);
        assert!(!none.contains("deny"), "{none}");
    }
}
