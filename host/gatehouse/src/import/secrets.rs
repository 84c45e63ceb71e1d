//! Takes secrets out of what clients keep in clear: names of variables stand in their place. The values themselves are
//! never shown; whoever imports copies them from the file that they stand in.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::variables::variable;
use crate::config::credentials::{self, CredentialSpan, is_variable};

/// The variables that were named so far.
#[derive(Default)]
pub(crate) struct SecretVariables(BTreeMap<String, SecretVariable>);

struct SecretVariable {
    server: String,
    value: String,
    location: String,
}

impl SecretVariables {
    /// Takes secrets out of one server's keys.
    pub(crate) fn take_out(&mut self, server: &str, described: &str, definition: &mut Map<String, Value>) {
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

    /// The variables, each with where its value stands.
    pub(crate) fn into_variables(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, taken)| (name, taken.location)).collect()
    }

    /// Replaces credentials by variables. `own` is the name of the variable whose value the text is; `place` describes
    /// the text, with the name that a credential has in it.
    fn replace(
        &mut self,
        server: &str,
        own: Option<&str>,
        text: &mut String,
        found: Vec<CredentialSpan>,
        place: impl Fn(Option<&str>) -> String,
    ) {
        // From the last one: the ranges before it stay valid.
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

    /// Returns the variable for a value: the one that this server has for the same value, else the wanted one. If that
    /// has another value, the server's name goes before it.
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
