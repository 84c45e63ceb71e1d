//! Validation of declared presets, and the choice of the preset to serve.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use gatehouse_core::{
    CompiledPreset, ExposedName, Preset, SourceId,
    approval::{ApprovalRule, ApprovalScope, MAX_APPROVAL_TIME},
    overrides::ToolOverride,
};
use gatehouse_sandbox::parse_duration;
use serde_json::Map;

use super::{
    Config, ConfigError, ConfigText, Env, PlainError, ServersConfig, TextValue, check_gate_name, effect,
    keys,
    preset_files::{self, ParamFiles},
    raw, raw_presets, workflow,
};

impl Config {
    /// Returns the preset to serve: from the command line, else MCP_PRESET, else MCP_ENABLED_GATES, else the default.
    ///
    /// An unknown name is an error and never falls back to another preset.
    pub(crate) fn select(&self, named: Option<&str>, env: &Env) -> Result<CompiledPreset, ConfigError> {
        let compile =
            |place: &str, name: &str| self.compiled(name).map_err(|error| ConfigError::new(place, error));
        if let Some(name) = named {
            return compile("--preset", name);
        }
        if let Some(name) = env.get("MCP_PRESET") {
            return compile("MCP_PRESET", name);
        }
        if let Some(gates) = env.enabled_gates() {
            let bad = |reason| ConfigError::new("MCP_ENABLED_GATES", reason);
            if gates.is_empty() {
                return Err(bad(PlainError::from("names no gate; unset it, or list gates such as kg,idea")));
            }
            let mut once: Vec<(SourceId, Map<_, _>)> = Vec::new();
            for gate in gates {
                check_gate_name(&gate).map_err(bad)?;
                let source = SourceId::Gate(gate.into());
                if !once.iter().any(|(existing, _)| *existing == source) {
                    once.push((source, Map::new()));
                }
            }
            return Ok(CompiledPreset::from_sources("enabled-gates", once));
        }
        compile("default_preset", &self.default_preset)
    }
}

/// Checks that the file's default preset exists, and that its own presets compile.
pub(super) fn check(
    text: &ConfigText,
    config: &Config,
    default: Option<&TextValue<String>>,
) -> Result<(), ConfigError> {
    if let Some(name) = default.filter(|name| !config.presets.contains_key(name.as_str())) {
        return text.at(name, config.compiled(name)).map(drop);
    }
    // A shipped preset that conflicts with the file's own is an error only when it is selected.
    for name in config.presets.keys().filter(|name| config.is_own(name)) {
        config.compiled(name).map_err(|error| keys::does_not_compile(text, &config.presets, &error))?;
    }
    Ok(())
}

/// Validates one preset. The servers it lists must be declared in the same file.
pub(super) fn declared(
    text: &ConfigText,
    preset: raw::Preset,
    declared: &ServersConfig,
    inserted: &mut ParamFiles,
) -> Result<Preset, ConfigError> {
    let base = text.file.as_deref().and_then(Path::parent);
    let mut sources: Vec<(SourceId, Map<_, _>)> = Vec::new();
    for (name, mut params) in preset.gates {
        text.at(&name, preset_files::insert(&mut params, base, inserted))?;
        sources.push((SourceId::Gate(name.into_inner().into()), params));
    }
    for name in preset.servers {
        declared.check_known(text, &name)?;
        let source = SourceId::Server(name.into_inner().into());
        if !sources.iter().any(|(existing, _)| *existing == source) {
            sources.push((source, Map::new()));
        }
    }
    let tools = preset.tools.into_iter();
    let mut workflow = Vec::new();
    for (name, steps) in preset.workflow {
        workflow.extend(workflow::validate(text, &name, steps)?);
    }
    let project = preset.project.map(|project| match base {
        Some(base) => Ok(base.join(&*project)),
        None if project.is_absolute() => Ok(project.into_inner()),
        None => bail_at!(text, project, "project must be an absolute path"),
    });
    let skills = preset.skills.into_iter().map(|folder| skill_folder(text, base, &folder));
    let skills = skills.collect::<Result<Vec<_>, _>>()?;
    let approve = preset.approve.map(|approve| approval(text, approve)).transpose()?;
    Ok(Preset {
        approve: approve.into_iter().collect(),
        workflow,
        project: project.transpose()?,
        skills,
        description: preset.description,
        extends: preset.extends,
        sources,
        deny: preset.deny,
        aliases: preset.aliases,
        structured: preset.structured.map(|structured| structured.0),
        filters: preset.filters,
        proxied: preset.proxied,
        listed: preset.listed,
        pinned: preset.pinned,
        surface: preset.surface.map(Into::into),
        tools: tools.map(|(name, tool)| changed(text, name, tool)).collect::<Result<_, _>>()?,
    })
}

/// Returns the absolute path of a folder of skills, which must exist.
fn skill_folder(
    text: &ConfigText,
    base: Option<&Path>,
    folder: &TextValue<PathBuf>,
) -> Result<PathBuf, ConfigError> {
    let path = base.map_or_else(|| folder.to_path_buf(), |base| base.join(&**folder));
    if !path.is_absolute() {
        bail_at!(text, folder, "a folder of skills must be an absolute path");
    }
    let display_path = path.display();
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => bail_at!(text, folder, "{display_path} is not a folder"),
        Err(error) => bail_at!(text, folder, "cannot read the folder of skills {display_path}: {error}"),
    }
}

fn approval(text: &ConfigText, rule: raw_presets::Approval) -> Result<ApprovalRule, ConfigError> {
    let effect = rule.effect.map(|word| {
        let reason = "effect must be \"read-only\", \"mutating\" or \"external-exec\", from the weakest to the \
            strongest";
        text.at(&word, effect(&word).ok_or(reason))
    });
    let remember = rule.remember.map(|word| remembered(text, &word));
    Ok(ApprovalRule {
        tools: rule.tools,
        effect: effect.transpose()?,
        except: rule.except,
        remember: remember.transpose()?.unwrap_or_default(),
    })
}

fn remembered(text: &ConfigText, word: &TextValue<String>) -> Result<ApprovalScope, ConfigError> {
    match (word.as_str(), parse_duration(word)) {
        ("call", _) => Ok(ApprovalScope::Call),
        ("session", _) => Ok(ApprovalScope::Session),
        (_, Ok(time)) if (Duration::from_secs(1)..=MAX_APPROVAL_TIME).contains(&time) => {
            Ok(ApprovalScope::For(time))
        }
        _ => bail_at!(
            text,
            word,
            "remember must be \"call\", \"session\", or a time of 1 s to 480 min such as \"15 min\""
        ),
    }
}

/// Validates the override of one tool. Its existence is checked after the sources list their tools.
fn changed(
    text: &ConfigText,
    tool: TextValue<String>,
    change: raw::ToolOverride,
) -> Result<(String, ToolOverride), ConfigError> {
    if let Some(name) = &change.name {
        text.at(name, ExposedName::new(name))?;
    }
    let changes = change.name.is_some()
        || change.description.is_some()
        || change.listed.is_some()
        || !change.fixed.is_empty();
    if change.hide && changes {
        bail_at!(text, tool, "'{tool}' is hidden, so nothing else can be changed about it");
    }
    let raw::ToolOverride { name, description, fixed, hide: hidden, listed } = change;
    let (name, unlisted) = (name.map(TextValue::into_inner), listed == Some(false));
    let change = ToolOverride { name, description, fixed, hidden, unlisted };
    Ok((tool.into_inner(), change))
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Effect;

    use super::*;
    use crate::config::tests::{assert_refused, parse};

    #[test]
    fn approvals_name_calls_and_duration() {
        let rule = |lines: &str| {
            let content = format!("[presets.a]\ngates = {{}}\n[presets.a.approve]\n{lines}");
            let config = parse(&content, &Env::default())?;
            Ok::<_, PlainError>(config.presets["a"].approve.clone())
        };
        let expected = ApprovalRule {
            tools: vec!["fs__*".into()],
            effect: Some(Effect::ExternalExec),
            except: Some(vec![]),
            remember: ApprovalScope::For(Duration::from_secs(900)),
        };
        let lines = "tools = [\"fs__*\"]\neffect = \"external-exec\"\nexcept = []\nremember = \"15 min\"";
        assert_eq!(rule(lines), Ok(vec![expected]));
        assert_eq!(rule("effect = \"mutating\"").map(|rules| rules[0].remember), Ok(ApprovalScope::Call));
        let cases = [
            ("effect = \"execute\"", "presets.toml:4:10: effect must be"),
            ("effect = \"execute\"", "from the weakest to the strongest"),
            ("remember = \"always\"", "presets.toml:4:12: remember must be"),
            ("remember = \"481 min\"", "a time of 1 s to 480 min"),
            ("remember = \"0 s\"", "a time of 1 s to 480 min"),
        ];
        assert_refused("[presets.a]\ngates = {}\n[presets.a.approve]\n", &cases);
    }

    #[test]
    fn the_choice_of_preset_follows_the_documented_order() {
        let config = parse(include_str!("../../../../presets.toml"), &Env::default()).expect("valid");
        let chosen = |named: Option<&str>, env: &Env| {
            config.select(named, env).map(|e| e.preset).map_err(|e| e.to_string())
        };
        let both = Env::from_pairs([("MCP_PRESET", "context"), ("MCP_ENABLED_GATES", "kg, idea")]);
        assert_eq!(chosen(Some("merger"), &both).as_deref(), Ok("merger"));
        assert_eq!(chosen(None, &both).as_deref(), Ok("context"));
        assert_eq!(
            chosen(None, &Env::from_pairs([("MCP_ENABLED_GATES", "kg")])).as_deref(),
            Ok("enabled-gates")
        );
        assert_eq!(chosen(None, &Env::default()).as_deref(), Ok("full"));
        assert_eq!(
            chosen(None, &Env::from_pairs([("MCP_PRESET", "contxt")])),
            Err("MCP_PRESET: unknown preset 'contxt'. Did you mean 'context'? There are: code, context, documents, full, gateway, ideation, implementation, merger, proxy.".into())
        );
    }
}
