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
mod tests {
    use super::*;
    use crate::config::Config;

    fn rules(content: &str) -> Result<HttpRules, String> {
        let text = ConfigText { file: Some("/etc/gh/presets.toml".into()), content: content.into() };
        // A variable of the list: tests cannot set others in the process environment.
        let env = Env::from_pairs([("GATEHOUSE_TOKEN", "0123456789abcdef")]);
        let config = Config::parse(&text, &env).map_err(|error| error.to_string())?;
        let rules = config.gates["weather"].settings.http.clone().ok_or("no block")?;
        Ok((*rules).clone())
    }

    fn error(block: &str) -> String {
        rules(&format!("[gates.weather.http]\n{block}\n")).expect_err("refused")
    }

    #[test]
    fn a_block_becomes_rules() {
        let block = "[gates.weather.http]\n\"api.weather.gov\" = { headers = { Authorization = \"Bearer ${GATEHOUSE_TOKEN}\" } }\n\"*.example.com\" = {}\n\"http://127.0.0.1:8080\" = {}\n\"wiki.corp\" = { private = true }\n";
        let rules = rules(block).expect("valid");
        assert_eq!(rules.hosts(), ["*.example.com", "api.weather.gov", "http://127.0.0.1:8080", "wiki.corp"]);
        let permit = rules.check("https://api.weather.gov/").expect("allowed");
        assert_eq!(permit.headers, [("Authorization", &Secret::new("Bearer 0123456789abcdef"))]);
        assert!(!format!("{rules:?}").contains("0123456789abcdef"), "{rules:?}");
        assert_eq!(rules.redactor().redact_text("0123456789abcdef".into()), "[redacted]");
    }

    #[test]
    fn a_variable_that_is_not_set_is_a_complaint_and_no_error() {
        let block =
            "[gates.weather.http]\n\"a.example\" = { headers = { X-Key = \"${GATEHOUSE_TEST_UNSET}\" } }\n";
        let why = "header X-Key for a.example needs the environment variable GATEHOUSE_TEST_UNSET, which is not set";
        assert_eq!(rules(block).expect("valid").problems(), [why]);
    }

    #[test]
    fn every_mistake_has_its_place() {
        assert!(
            error("\"*\" = {}").starts_with("/etc/gh/presets.toml:2:1: '*' has a `*`"),
            "{}",
            error("\"*\" = {}")
        );
        assert!(error("\"a.example/x\" = {}").contains(":2:1: 'a.example/x' is not a host"));
        let twice = error("\"a.example\" = {}\n\"A.example.\" = {}");
        assert!(twice.contains("repeats a.example, which another line already names"), "{twice}");
        let unknown = error("\"a.example\" = { header = {} }");
        assert!(unknown.contains(":2:17: unknown key 'header'. Did you mean 'headers'?"), "{unknown}");
        assert!(
            error("\"a.example\" = { headers = { Host = \"x\" } }")
                .contains(":2:29: header 'Host' is set by")
        );
        assert!(
            error("\"a.example\" = { headers = { \"a b\" = \"x\" } }")
                .contains(":2:29: 'a b' is not a valid")
        );
        assert!(error("\"a.example\" = { headers = { A = \"${\" } }").contains(":2:33: '${' is not closed"));
        let grants = super::super::checked::Config::parse(
            &ConfigText { file: None, content: "[gates.weather]\ngrants = [\"http\"]\n".into() },
            &Env::default(),
        );
        let why = grants.expect_err("refused").to_string();
        assert!(
            why.contains(":2:11: 'http' is not granted by an entry; write a block [gates.<name>.http]"),
            "{why}"
        );
    }
}
