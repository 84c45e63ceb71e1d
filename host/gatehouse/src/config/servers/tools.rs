//! `[servers.NAME.tools.TOOL]`, validated: the behavior of a server's tools.

use std::collections::BTreeMap;

use gatehouse_core::{names::quoted, tool_policy::ToolPolicy};

use crate::config::{ConfigError, ConfigText, TextValue, effect, raw_servers::ToolRule};

/// Maximum tools in one block, which equals the maximum that a server may list.
const MAX_TOOLS: usize = gatehouse_core::source::MAX_TOOLS;

pub(super) fn validate(
    text: &ConfigText,
    tools: &BTreeMap<TextValue<String>, ToolRule>,
) -> Result<BTreeMap<String, ToolPolicy>, ConfigError> {
    if let Some(first) = tools.keys().nth(MAX_TOOLS) {
        bail_at!(text, first, "a server has at most {MAX_TOOLS} tools");
    }
    tools.iter().map(|(name, rule)| Ok((name.to_string(), policy(text, name, rule)?))).collect()
}

fn policy(text: &ConfigText, name: &TextValue<String>, rule: &ToolRule) -> Result<ToolPolicy, ConfigError> {
    let effect = rule.effect.as_ref().map(|word| {
        let parsed_effect = effect(word).ok_or_else(|| {
            let display_word = quoted(word, 64);
            format!("effect must be \"read-only\", \"mutating\" or \"external-exec\", not '{display_word}'")
        });
        text.at(word, parsed_effect)
    });
    if let Some(word) =
        [&rule.dry_run, &rule.target, &rule.precheck].into_iter().flatten().find(|word| word.is_empty())
    {
        bail_at!(text, word, "expected a name, found an empty text");
    }
    match (&rule.precheck, &rule.target) {
        (Some(precheck), None) => {
            bail_at!(text, precheck, "precheck needs target, the argument that it checks")
        }
        (Some(precheck), Some(_)) if precheck == name => {
            bail_at!(text, precheck, "a tool cannot check its own calls; name a tool that only reads")
        }
        (None, Some(target)) => bail_at!(text, target, "target needs precheck, the tool that checks it"),
        _ => {}
    }
    let word = |word: &Option<TextValue<String>>| word.as_ref().map(ToString::to_string);
    Ok(ToolPolicy {
        effect: effect.transpose()?,
        idempotent: rule.idempotent,
        dry_run: word(&rule.dry_run),
        target: word(&rule.target),
        precheck: word(&rule.precheck),
    })
}

#[cfg(test)]
mod tests {
    use gatehouse_core::Effect;

    use super::*;
    use crate::config::{
        Env,
        tests::{assert_refused, parse},
    };

    #[test]
    fn a_block_describes_a_tool() {
        let lines = "[servers.s]\ncommand = \"x\"\n[servers.s.tools.rename_symbol]\neffect = \"mutating\"\nidempotent = true\ndry_run = \"preview\"\n\
            target = \"symbol\"\nprecheck = \"find_symbol\"\n[servers.s.tools.\"find/symbol\"]\neffect = \"read-only\"\n";
        let config = parse(lines, &Env::default()).expect("valid");
        let policies = &config.servers.declared["s"].definition.tools;
        let expected = ToolPolicy {
            effect: Some(Effect::Mutating),
            idempotent: Some(true),
            dry_run: Some("preview".into()),
            target: Some("symbol".into()),
            precheck: Some("find_symbol".into()),
        };
        assert_eq!(policies["rename_symbol"], expected);
        assert_eq!(policies["find/symbol"].effect, Some(Effect::ReadOnly));
    }

    #[test]
    fn mistakes_have_their_place() {
        let cases = [
            (
                "effect = \"READ_ONLY\"",
                "presets.toml:4:10: effect must be \"read-only\", \"mutating\" or \"external-exec\", not",
            ),
            ("dry_run = \"\"", "presets.toml:4:11: expected a name"),
            ("precheck = \"look\"", "presets.toml:4:12: precheck needs target"),
            ("target = \"id\"", "presets.toml:4:10: target needs precheck"),
            ("target = \"id\"\nprecheck = \"t\"", "presets.toml:5:12: a tool cannot check its own calls"),
            ("efect = \"mutating\"", "efect"),
        ];
        assert_refused("[servers.s]\ncommand = \"x\"\n[servers.s.tools.t]\n", &cases);
    }
}
