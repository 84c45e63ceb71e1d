//! Secret values, and the templates in presets.toml that refer to them.

use std::{fmt, sync::Arc};

use super::header;
use crate::{InvalidValue, invalid::ensure, names::quoted};

/// A value that `Debug` never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// A header value with variables, such as `Bearer ${WEATHER_TOKEN}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretTemplate {
    /// Variables, each with the text before it.
    variables: Vec<(String, String)>,
    end: String,
}

#[derive(Debug, Clone)]
pub struct FilledTemplate {
    /// The value, or the reason that it cannot be set: `needs the environment variable X, which is not set`.
    pub value: Result<Secret, InvalidValue>,
    /// Parts to redact from responses.
    pub secrets: Vec<Secret>,
}

impl SecretTemplate {
    pub fn parse(text: &str) -> Result<Self, InvalidValue> {
        let is_value = header::is_value(text.as_bytes());
        ensure!(is_value, "a header value must not contain line breaks or control characters");
        Self::parse_text(text)
    }

    /// Parses any text with variables. The error describes the fault.
    pub fn parse_text(text: &str) -> Result<Self, InvalidValue> {
        let (mut variables, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, after)) = after.split_once('}') else {
                return Err("'${' is not closed; write variables as ${NAME}".into());
            };
            let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(letter)
            {
                let shown = quoted(name, 64);
                return Err(format!("'{shown}' is not a variable name; write variables as ${{NAME}}").into());
            }
            variables.push((before.to_owned(), name.to_owned()));
            rest = after;
        }
        Ok(Self { variables, end: rest.to_owned() })
    }

    /// Expands the variables without checking their values. The error is the first variable that is not set.
    pub fn expand(&self, lookup: impl Fn(&str) -> Option<Secret>) -> Result<String, &str> {
        let mut value = String::new();
        for (before, variable) in &self.variables {
            value.push_str(before);
            value.push_str(lookup(variable).ok_or(&**variable)?.reveal());
        }
        value.push_str(&self.end);
        Ok(value)
    }

    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|(_, variable)| variable.as_str())
    }

    /// Expands the variables for the header `name`.
    ///
    /// A value without variables is a secret if `name` suggests a credential.
    pub fn fill(&self, name: &str, lookup: impl Fn(&str) -> Option<Secret>) -> FilledTemplate {
        let failed = |why: String| FilledTemplate { value: Err(why.into()), secrets: Vec::new() };
        let mut secrets = Vec::new();
        for variable in self.variables() {
            match lookup(variable) {
                Some(secret) if header::is_value(secret.reveal().as_bytes()) => secrets.push(secret),
                Some(_) => {
                    return failed(format!(
                        "cannot hold the value of the environment variable {variable}: it contains a line break or \
                        control character"
                    ));
                }
                None => {
                    return failed(format!("needs the environment variable {variable}, which is not set"));
                }
            }
        }
        let value = self.expand(lookup).unwrap_or_default();
        if secrets.is_empty() && is_secret_name(name) {
            secrets.push(Secret::new(value.as_str()));
        }
        FilledTemplate { value: Ok(Secret::new(value)), secrets }
    }
}

/// Returns true if a header or variable name suggests a credential.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "key", "pass", "secret", "token"].iter().any(|word| name.contains(word))
}

/// Prefixes of tokens from well-known issuers.
const TOKEN_PREFIXES: [&str; 13] = [
    "sk-",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "AIza",
    "eyJ",
    "ntn_",
    "lin_api_",
    "ghk_",
];

pub fn is_token(value: &str) -> bool {
    value.len() >= 16
        && !value.contains(char::is_whitespace)
        && TOKEN_PREFIXES.iter().any(|beginning| value.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<Secret> {
        match name {
            "TOKEN" => Some(Secret::new("s3cret-value")),
            "BROKEN" => Some(Secret::new("line\nbreak")),
            _ => None,
        }
    }

    #[test]
    fn variables_are_expanded_and_not_shown() {
        let filled =
            SecretTemplate::parse("Bearer ${TOKEN}").expect("a template").fill("Authorization", environment);
        assert_eq!(filled.value.as_ref().map(Secret::reveal), Ok("Bearer s3cret-value"));
        assert_eq!(filled.secrets, [Secret::new("s3cret-value")]);
        assert!(!format!("{filled:?}").contains("s3cret"), "{filled:?}");
    }

    #[test]
    fn missing_variables_are_named() {
        let fill =
            |text: &str| SecretTemplate::parse(text).expect("a template").fill("X-A", environment).value;
        assert_eq!(
            fill("${NONE}").map_err(|why| why.to_string().contains("variable NONE, which is not set")),
            Err(true)
        );
        assert_eq!(
            fill("${BROKEN}").map_err(|why| why.to_string().contains("BROKEN: it contains a line break")),
            Err(true)
        );
    }

    #[test]
    fn any_text_is_expanded_whatever_its_variables_hold() {
        let template = SecretTemplate::parse_text("a\n${BROKEN}-${TOKEN}").expect("a template");
        assert_eq!(template.expand(environment).as_deref(), Ok("a\nline\nbreak-s3cret-value"));
        assert_eq!(template.variables().collect::<Vec<_>>(), ["BROKEN", "TOKEN"]);
        let template = SecretTemplate::parse_text("${TOKEN}${NONE}").expect("a template");
        assert_eq!(template.expand(environment), Err("NONE"));
    }

    #[test]
    fn bad_templates_are_refused() {
        for bad in ["${", "${}", "${1A}", "${A B}", "a\nb"] {
            assert!(SecretTemplate::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn literal_is_secret_if_its_header_suggests_it() {
        let fill = |name: &str| {
            SecretTemplate::parse("abcdefgh").expect("a template").fill(name, environment).secrets
        };
        assert_eq!(fill("X-Api-Key").len(), 1);
        assert_eq!(fill("Accept").len(), 0);
    }
}
