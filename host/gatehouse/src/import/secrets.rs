//! Replaces literal secrets in clients' files by variables. The values are never shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::variables::variable;
use crate::config::credentials::{self, CredentialSpan, is_variable};

#[derive(Default)]
pub(crate) struct SecretVariables(BTreeMap<String, SecretVariable>);

struct SecretVariable {
    server: String,
    value: String,
    location: String,
}

impl SecretVariables {
    /// Replaces the secrets in one server's keys. `described` names the server in locations.
    pub(crate) fn extract(&mut self, server: &str, described: &str, definition: &mut Map<String, Value>) {
        let place = |key: String, name: Option<&str>| {
            let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
            format!("{key}{name} of {described}")
        };
        for key in ["env", "headers"] {
            let Some(Value::Object(pairs)) = definition.get_mut(key) else { continue };
            for (name, value) in pairs {
                let Value::String(text) = value else { continue };
                let found = credentials::in_value(name, text).into_iter().collect();
                let own = (key == "env" && is_variable(name)).then_some(name.as_str());
                self.replace(server, own, text, found, |_| place(format!("{key}.{name}"), None));
            }
        }
        if let Some(Value::Array(args)) = definition.get_mut("args") {
            let texts: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap_or_default()).collect();
            let found = credentials::in_args(&texts);
            for (index, (arg, found)) in args.iter_mut().zip(found).enumerate() {
                let Value::String(text) = arg else { continue };
                self.replace(server, None, text, found, |name| place(format!("args[{index}]"), name));
            }
        }
        if let Some(Value::String(url)) = definition.get_mut("url") {
            let found = credentials::in_url(url);
            self.replace(server, None, url, found, |name| place("url".into(), name));
        }
    }

    pub(crate) fn into_variables(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, taken)| (name, taken.location)).collect()
    }

    /// Replaces credentials in `text`. `own` is the variable that the text is the value of; `place` describes a
    /// location.
    fn replace(
        &mut self,
        server: &str,
        own: Option<&str>,
        text: &mut String,
        found: Vec<CredentialSpan>,
        place: impl Fn(Option<&str>) -> String,
    ) {
        // Replace from the end, so that earlier ranges stay valid.
        for CredentialSpan { range, name } in found.into_iter().rev() {
            let value = text[range.clone()].to_owned();
            let mut stands = place(name.as_deref());
            if let Some(before) = text[..range.start].strip_suffix(' ') {
                let word = before.rsplit(' ').next().unwrap_or(before);
                stands.push_str(&format!(", without '{word} '"));
            }
            let words = name.as_deref().unwrap_or("token");
            let wanted = own.map_or_else(|| variable(&format!("{server} {words}")), str::to_owned);
            let named = self.variable(server, wanted, &value, stands);
            text.replace_range(range, &format!("${{{named}}}"));
        }
    }

    /// Returns this server's variable for the same value, else the wanted one, prefixed with the server's name if it
    /// has another value.
    fn variable(&mut self, server: &str, wanted: String, value: &str, stands: String) -> String {
        let same = |taken: &SecretVariable| taken.value == value && taken.server == server;
        if let Some((name, _)) = self.0.iter().find(|(_, taken)| same(taken)) {
            return name.clone();
        }
        let free = |taken: Option<&SecretVariable>| taken.is_none_or(|taken| taken.value == value);
        let mut name = wanted;
        while !free(self.0.get(&name)) {
            name = variable(&format!("{server} {name}"));
        }
        let taken = SecretVariable { server: server.to_owned(), value: value.to_owned(), location: stands };
        self.0.entry(name.clone()).or_insert(taken);
        name
    }
}
