//! Takes secrets out of what clients keep in clear: names of variables stand in their place. The values themselves are
//! never shown; whoever imports copies them from the file that they stand in.

use std::collections::BTreeMap;

use gatehouse_core::http::secret::{is_token, sounds_secret};
use serde_json::{Map, Value};

use super::variables::{is_variable, variable};

/// A shorter value is a switch and no credential.
const MIN: usize = 8;

/// The variables that were named so far.
#[derive(Default)]
pub(crate) struct Secrets(BTreeMap<String, Taken>);

struct Taken {
    value: String,
    stands: String,
}

impl Secrets {
    /// Takes secrets out of one server's keys.
    pub(crate) fn take_out(&mut self, server: &str, described: &str, definition: &mut Map<String, Value>) {
        for key in ["env", "headers"] {
            let Some(Value::Object(pairs)) = definition.get_mut(key) else { continue };
            for (name, value) in pairs {
                let stands = format!("{key}.{name} of {described}");
                let wanted = if key == "env" && is_variable(name) {
                    name.clone()
                } else {
                    variable(&format!("{server} {name}"))
                };
                if let Value::String(text) = value {
                    self.take_value(server, name, wanted, stands, text);
                }
            }
        }
        if let Some(Value::Array(args)) = definition.get_mut("args") {
            self.take_args(server, described, args);
        }
        if let Some(Value::String(url)) = definition.get_mut("url") {
            self.take_query(server, described, url);
        }
    }

    /// The variables, each with where its value stands.
    pub(crate) fn named(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, taken)| (name, taken.stands)).collect()
    }

    fn take_value(&mut self, server: &str, name: &str, wanted: String, stands: String, text: &mut String) {
        // `Bearer abc`: the scheme is no secret, and helps whoever sets the variable.
        let (scheme, credential) = match text.split_once(' ') {
            Some((scheme @ ("Bearer" | "Basic" | "Token" | "bearer" | "token"), rest)) => {
                (format!("{scheme} "), rest)
            }
            _ => (String::new(), text.as_str()),
        };
        if (sounds_secret(name) && credential.len() >= MIN || is_token(credential)) && !text.contains("${") {
            let variable = self.variable(server, wanted, credential, stands);
            *text = format!("{scheme}${{{variable}}}");
        }
    }

    /// `--api-key abc`, `--api-key=abc`, and whatever looks like a token.
    fn take_args(&mut self, server: &str, described: &str, args: &mut [Value]) {
        let mut before = String::new();
        for (place, arg) in args.iter_mut().enumerate() {
            let Value::String(text) = arg else { continue };
            let stands = format!("args[{place}] of {described}");
            let option = text.starts_with('-').then(|| text.split_once('=')).flatten();
            let (name, value) = match option {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (std::mem::take(&mut before), text.clone()),
            };
            let prefix = text.len() - value.len();
            let told = name.starts_with('-')
                && sounds_secret(&name)
                && value.len() >= MIN
                && !value.starts_with('-');
            if (told || is_token(&value)) && !value.contains("${") {
                let words = if name.is_empty() { "token" } else { &name };
                let named = self.variable(server, variable(&format!("{server} {words}")), &value, stands);
                *text = format!("{}${{{named}}}", &text[..prefix]);
            }
            before = text.clone();
        }
    }

    /// `?api_key=abc`
    fn take_query(&mut self, server: &str, described: &str, url: &mut String) {
        let Some((address, query)) = url.split_once('?') else { return };
        let mut pairs: Vec<String> = query.split('&').map(str::to_owned).collect();
        for pair in &mut pairs {
            let Some((name, value)) = pair.split_once('=') else { continue };
            if (sounds_secret(name) && value.len() >= MIN || is_token(value)) && !value.contains("${") {
                let stands = format!("url ({name}) of {described}");
                let named = self.variable(server, variable(&format!("{server} {name}")), value, stands);
                *pair = format!("{name}=${{{named}}}");
            }
        }
        *url = format!("{address}?{}", pairs.join("&"));
    }

    /// The variable for a value; where another value has the name, the server's name goes before it.
    fn variable(&mut self, server: &str, wanted: String, value: &str, stands: String) -> String {
        let free = |taken: Option<&Taken>| taken.is_none_or(|taken| taken.value == value);
        let mut name = wanted;
        while !free(self.0.get(&name)) {
            name = variable(&format!("{server} {name}"));
        }
        self.0.entry(name.clone()).or_insert_with(|| Taken { value: value.to_owned(), stands });
        name
    }
}
