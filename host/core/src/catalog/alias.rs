//! Aliases of a preset: extra names for tools, and hints for two tools with the same name.

use crate::{CompiledPreset, ExposedName, InvalidValue, ToolEntry, catalog::CatalogError, names};

/// Adds an entry for each alias of the preset: another name for a declared tool, given by its name or as `gate.tool`.
///
/// Skips aliases without a tool if the listings are not `complete`: the tool may be missing only for now.
pub(crate) fn add_aliases(
    preset: &CompiledPreset,
    entries: &mut Vec<ToolEntry>,
    complete: bool,
) -> Result<(), CatalogError> {
    let declared = entries.len();
    for (alias, target) in &preset.aliases {
        let bad =
            |reason| CatalogError::BadAlias { preset: preset.preset.clone(), alias: alias.clone(), reason };
        let name = ExposedName::new(alias).map_err(|reason| bad(reason.to_string().into()))?;
        if let Some(taken) = entries[..declared].iter().find(|entry| entry.name == name) {
            return Err(bad(format!("is already the name of a tool of {}", taken.id.source).into()));
        }
        let entry = match resolve_target(&entries[..declared], target) {
            Ok(entry) => entry,
            Err(_) if !complete => continue,
            Err(reason) => return Err(bad(reason)),
        };
        let entry = ToolEntry { name, rank: entries.len(), ..entry.clone() };
        entries.push(entry);
    }
    Ok(())
}

fn resolve_target<'a>(entries: &'a [ToolEntry], target: &str) -> Result<&'a ToolEntry, InvalidValue> {
    let fits = |entry: &&ToolEntry| entry.name.as_str() == target || qualified_name(entry) == target;
    let matches: Vec<&ToolEntry> = entries.iter().filter(fits).collect();
    match matches.as_slice() {
        [entry] => Ok(entry),
        [] => {
            let whole: Vec<String> = entries.iter().map(qualified_name).collect();
            let entry_names = entries.iter().map(|entry| entry.name.as_str());
            let suggestion = names::did_you_mean(target, entry_names.chain(whole.iter().map(String::as_str)));
            let display_target = names::quoted(target, 2 * crate::tool::MAX_NAME_CHARS);
            Err(format!("refers to '{display_target}', which no gate of the preset has.{suggestion}").into())
        }
        candidates => {
            let choices: Vec<String> =
                candidates.iter().map(|entry| format!("\"{}\"", qualified_name(entry))).collect();
            Err(format!(
                "refers to '{target}', which {} gates of the preset have; write {}",
                candidates.len(),
                choices.join(" or ")
            )
            .into())
        }
    }
}

fn qualified_name(entry: &ToolEntry) -> String {
    format!("{}.{}", entry.id.source.name(), entry.id.name)
}

/// Returns the remedy for several tools called `name`: ` To keep both, …`, with aliases that are free.
pub(crate) fn collision_hint(preset: &CompiledPreset, entries: &[ToolEntry], name: &ExposedName) -> String {
    let sharing: Vec<&ToolEntry> = entries.iter().filter(|entry| entry.name == *name).collect();
    let free = |new: &str| ExposedName::new(new).is_ok() && !entries.iter().any(|e| e.name.as_str() == new);
    let aliases: Vec<String> = sharing
        .iter()
        .enumerate()
        .map(|(place, entry)| {
            let wish = format!("{}_{name}", entry.id.source.name());
            let short = format!("tool_{}", place + 1);
            let alias = if free(&wish) { wish } else { short };
            format!("\"{alias}\" = \"{}\"", qualified_name(entry))
        })
        .collect();
    let place = match preset.declared {
        true => format!("under [presets.{}]", preset.preset),
        false => "in a preset that names these gates".to_owned(),
    };
    format!(
        " To keep both, add {place}: deny = [\"{name}\"] and aliases = {{ {} }}; or leave one of the gates out.",
        aliases.join(", ")
    )
}
