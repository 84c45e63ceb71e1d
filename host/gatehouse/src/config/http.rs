//! `[gates.<name>.http]`: hosts that a gate may contact, and headers that the host adds.
//!
//! An unset variable is not an error here, because it would disable all other gates too.

use std::collections::BTreeMap;

use gatehouse_core::{
    http::{HostPattern, HostRule, HttpRules, Secret, SecretTemplate, header, rules::AddedHeader},
    names::quoted,
};
use toml::Spanned;

use super::{ConfigError, Env, error::ConfigText, raw::HttpHost};

pub(super) fn rules(
    text: &ConfigText,
    gate: &str,
    block: BTreeMap<Spanned<String>, HttpHost>,
    env: &Env,
) -> Result<HttpRules, ConfigError> {
    let mut rules: Vec<HostRule> = Vec::new();
    let mut secrets: Vec<Secret> = Vec::new();
    for (name, host) in block {
        let key = HostPattern::parse(name.get_ref()).map_err(|why| text.error_at(name.span(), why))?;
        if rules.iter().any(|rule| rule.key == key) {
            let why =
                format!("'{}' repeats {key}, which another line already names", quoted(name.get_ref(), 100));
            return Err(text.error_at(name.span(), why));
        }
        let mut headers = Vec::new();
        for (name, value) in &host.headers {
            let shown = quoted(name.get_ref(), 64);
            if !header::is_name(name.get_ref()) {
                return Err(text.error_at(name.span(), format!("'{shown}' is not a valid header name")));
            }
            if header::is_framing(name.get_ref()) {
                let why = format!("header '{shown}' is set by the HTTP client and cannot be configured");
                return Err(text.error_at(name.span(), why));
            }
            let template =
                SecretTemplate::parse(value.get_ref()).map_err(|why| text.error_at(value.span(), why))?;
            let filled = template.fill(name.get_ref(), |variable| env.secret(variable));
            secrets.extend(filled.secrets);
            let variables = template.variables().map(str::to_owned).collect();
            headers.push(AddedHeader { name: name.get_ref().clone(), value: filled.value, variables });
        }
        rules.push(HostRule { key, headers, private: host.private });
    }
    Ok(HttpRules::new(gate, rules, &secrets))
}

#[cfg(test)]
mod tests;
