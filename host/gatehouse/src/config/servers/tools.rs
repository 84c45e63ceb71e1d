//! `[servers.NAME.tools.TOOL]`, validated: the behavior of a server's tools.

use std::collections::BTreeMap;

use gatehouse_core::{Effect, names::quoted, tool_policy::ToolPolicy};
use toml::Spanned;

use crate::config::{ConfigError, error::ConfigText, raw_servers::ToolRule};

/// Maximum tools in one block, which equals the maximum that a server may list.
const MAX_TOOLS: usize = gatehouse_core::source::MAX_TOOLS;

pub(super) fn validate(
    text: &ConfigText,
    tools: &BTreeMap<Spanned<String>, ToolRule>,
) -> Result<BTreeMap<String, ToolPolicy>, ConfigError> {
    if let Some(first) = tools.keys().nth(MAX_TOOLS) {
        return Err(text.error_at(first.span(), format!("a server has at most {MAX_TOOLS} tools")));
    }
    tools.iter().map(|(name, rule)| Ok((name.get_ref().clone(), policy(text, name, rule)?))).collect()
}

fn policy(text: &ConfigText, name: &Spanned<String>, rule: &ToolRule) -> Result<ToolPolicy, ConfigError> {
    let effect = rule.effect.as_ref().map(|word| {
        Effect::ALL.into_iter().find(|effect| effect.as_str() == word.get_ref()).ok_or_else(|| {
            let shown = quoted(word.get_ref(), 64);
            let why =
                format!("effect must be \"read-only\", \"mutating\" or \"external-exec\", not '{shown}'");
            text.error_at(word.span(), why)
        })
    });
    for word in [&rule.dry_run, &rule.target, &rule.precheck].into_iter().flatten() {
        if word.get_ref().is_empty() {
            return Err(text.error_at(word.span(), "expected a name, found an empty text"));
        }
    }
    match (&rule.precheck, &rule.target) {
        (Some(precheck), None) => {
            let why = "precheck needs target, the argument that it checks";
            return Err(text.error_at(precheck.span(), why));
        }
        (Some(precheck), Some(_)) if precheck.get_ref() == name.get_ref() => {
            let why = "a tool cannot check its own calls; name a tool that only reads";
            return Err(text.error_at(precheck.span(), why));
        }
        (None, Some(target)) => {
            let why = "target needs precheck, the tool that checks it";
            return Err(text.error_at(target.span(), why));
        }
        _ => {}
    }
    let word = |word: &Option<Spanned<String>>| word.as_ref().map(|word| word.get_ref().clone());
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
    use super::*;
    use crate::config::{Env, PlainError, tests::parse};

    fn policies(lines: &str) -> Result<BTreeMap<String, ToolPolicy>, PlainError> {
        let config = parse(&format!("[servers.s]\ncommand = \"x\"\n{lines}"), &Env::default())?;
        Ok(config.servers.declared["s"].definition.tools.clone())
    }

    #[test]
    fn a_block_describes_a_tool() {
        let lines = "[servers.s.tools.rename_symbol]\neffect = \"mutating\"\nidempotent = true\ndry_run = \"preview\"\n\
            target = \"symbol\"\nprecheck = \"find_symbol\"\n[servers.s.tools.\"find/symbol\"]\neffect = \"read-only\"\n";
        let policies = policies(lines).expect("valid");
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
        for (line, why) in [
            (
                "effect = \"READ_ONLY\"",
                "presets.toml:4:10: effect must be \"read-only\", \"mutating\" or \"external-exec\", not",
            ),
            ("dry_run = \"\"", "presets.toml:4:11: expected a name"),
            ("precheck = \"look\"", "presets.toml:4:12: precheck needs target"),
            ("target = \"id\"", "presets.toml:4:10: target needs precheck"),
            ("target = \"id\"\nprecheck = \"t\"", "presets.toml:5:12: a tool cannot check its own calls"),
            ("efect = \"mutating\"", "efect"),
        ] {
            let error = policies(&format!("[servers.s.tools.t]\n{line}\n")).expect_err(line);
            assert!(error.contains(why), "{error}");
        }
    }
}
