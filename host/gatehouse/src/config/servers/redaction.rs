//! The values to redact in everything that a server sends.

use std::path::Path;

use gatehouse_core::{
    http::{
        Secret,
        redact::{MIN_ENTROPY, entropy},
        secret::{is_certain_secret_name, is_secret_name, is_token},
    },
    names::quoted,
};
use serde_json::Value;

use crate::config::{ConfigError, ConfigText, PlainError, TextValue, credentials::CredentialSpan};

/// Minimum length of a redacted value under a name that says that it is a credential.
const MIN_CERTAIN_LENGTH: usize = 4;

/// Minimum length of other redacted values. A shorter one would be found in other words by chance.
const MIN_LENGTH: usize = 8;

/// Maximum depth of JSON in a value, such as the key of a service account.
const MAX_DEPTH: usize = 4;

/// Words of the protocol and of ordinary replies, and passwords that everybody knows. To redact them would change
/// replies and protect nothing.
const COMMON_WORDS: &str = "admin anonymous array assistant audio blob boolean changeme content contents data default \
    description disabled elastic enabled error example false guest image integer items localhost messages mimetype minio mongo \
    mysql name neo4j none null number object optional password postgres properties public read redis required resource result \
    role root secret string system test text title tool tools true type user value write";

/// Values that one server's block contains or refers to.
#[derive(Default)]
pub(super) struct RedactionValues {
    /// Values by the names of their variables, headers and keys of `env`.
    pub(super) named: Vec<(String, String)>,
    credentials: Vec<String>,
    /// Names that suggest a credential, each with the reason that its value is not redacted.
    pub(super) left_out: Vec<(String, &'static str)>,
}

impl RedactionValues {
    pub(super) fn variable(&mut self, name: &str, value: &str) {
        self.named.push((name.to_owned(), value.to_owned()));
        self.value(name, value, 0);
    }

    pub(super) fn credentials(&mut self, text: &str, found: impl IntoIterator<Item = CredentialSpan>) {
        for CredentialSpan { range, name } in found {
            // Without a name, the position of the value says that it is a credential.
            self.value(name.as_deref().unwrap_or("password"), &text[range], 0);
        }
    }

    fn value(&mut self, name: &str, value: &str, depth: usize) {
        if value.trim_start().starts_with('{')
            && depth < MAX_DEPTH
            && let Ok(Value::Object(members)) = serde_json::from_str(value)
        {
            for (key, member) in &members {
                match member {
                    Value::String(text) => self.value(key, text, depth + 1),
                    member => self.value(key, &member.to_string(), depth + 1),
                }
            }
        }
        match is_redacted(name, value.trim()) {
            Ok(true) => self.credentials.push(value.to_owned()),
            Ok(false) => {}
            Err(reason) => {
                let entry = (name.to_owned(), reason);
                if !self.left_out.contains(&entry) {
                    self.left_out.push(entry);
                }
            }
        }
    }

    /// Returns the values to redact. Fails for an invalid type, or a name that is not one of this server's.
    pub(super) fn secrets(
        self,
        text: &ConfigText,
        choice: Option<&TextValue<toml::Value>>,
    ) -> Result<Vec<Secret>, ConfigError> {
        let values = match choice.map(|choice| (choice, &**choice)) {
            None | Some((_, toml::Value::Boolean(true))) => self.credentials,
            Some((_, toml::Value::Boolean(false))) => Vec::new(),
            Some((place, toml::Value::Array(names))) => {
                let named = names.iter().map(|name| self.values_of(name));
                text.at(place, named.collect::<Result<Vec<_>, _>>())?.concat()
            }
            Some((place, _)) => bail_at!(
                text,
                place,
                "invalid value for `redact`: expected true, false or a list of names, as [\"API_KEY\"]"
            ),
        };
        let mut secrets: Vec<Secret> = Vec::new();
        for secret in values.into_iter().map(Secret::new) {
            if !secrets.contains(&secret) {
                secrets.push(secret);
            }
        }
        Ok(secrets)
    }

    fn values_of(&self, name: &toml::Value) -> Result<Vec<String>, PlainError> {
        let Some(name) = name.as_str() else {
            bail!("invalid value in `redact`: expected a name in quotes, not {name}");
        };
        let same = self.named.iter().filter(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        let values: Vec<_> = same.map(|(_, value)| value.clone()).collect();
        if values.is_empty() {
            let name = quoted(name, 64);
            bail!(
                "invalid value in `redact`: '{name}' is not a variable, a header or a key of env of this server"
            );
        }
        Ok(values)
    }
}

/// Returns whether a value is redacted, or the reason that it is not although its name suggests a credential.
fn is_redacted(name: &str, value: &str) -> Result<bool, &'static str> {
    if is_token(value) {
        return Ok(true);
    }
    let is_path = value.contains('/') && Path::new(value).exists();
    if value.is_empty() || is_path || !is_secret_name(name) {
        return Ok(false);
    }
    if COMMON_WORDS.split_whitespace().any(|word| word.eq_ignore_ascii_case(value)) {
        return Err("it is a common word");
    }
    if is_certain_secret_name(name) {
        let is_long = value.len() >= MIN_CERTAIN_LENGTH;
        return if is_long { Ok(true) } else { Err("it has fewer than 4 characters") };
    }
    if value.parse::<f64>().is_ok() {
        return Ok(false);
    }
    let is_random = value.len() >= MIN_LENGTH && entropy(value) >= MIN_ENTROPY;
    if is_random { Ok(true) } else { Err("the name can mean something else, and the value is not random") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::credentials::in_value;

    fn redacted(redaction: RedactionValues) -> Vec<String> {
        let secrets =
            redaction.secrets(&ConfigText { file: None, content: String::new() }, None).expect("the default");
        secrets.iter().map(|secret| secret.reveal().to_owned()).collect()
    }

    #[test]
    fn only_credentials_are_redacted() {
        let mut redaction = RedactionValues::default();
        for (name, value) in [
            ("GITHUB_TOKEN", "s3cret-value"),
            ("HOME", "/root/home-of-mine"),
            ("SSH_KEY_FILE", "/etc/passwd"),
            ("AUTH_PORT", "18446744"),
            ("AUTH_MODE", "required"),
            ("AUTHOR", "somebody-with-a-long-name"),
            ("API_KEY", "short"),
            ("DB_PASSWORD", "abc"),
            ("POSTGRES_PASSWORD", "postgres"),
            ("SESSION_STORE", "Zk3-91xQ"),
            ("REGION", "eu-central-1"),
        ] {
            redaction.variable(name, value);
        }
        let header = "Bearer another-s3cret";
        redaction.credentials(header, in_value("Authorization", header));
        let names: Vec<&str> = redaction.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["AUTH_MODE", "DB_PASSWORD", "POSTGRES_PASSWORD"]);
        assert_eq!(redacted(redaction), ["s3cret-value", "short", "Zk3-91xQ", "another-s3cret"]);
    }

    #[test]
    fn of_a_key_in_json_only_the_secrets_are_redacted() {
        let mut redaction = RedactionValues::default();
        let key = r#"{"type": "service_account", "project_id": "acme-prod-17", "private_key_id": "0a1b2c3d4e5f",
            "private_key": "-----BEGIN PRIVATE KEY-----\nMIIE\n", "auth_uri": "https://accounts.example.com/o/auth"}"#;
        redaction.variable("GOOGLE_CREDENTIALS", key);
        let values = redacted(redaction);
        assert!(values.contains(&key.to_owned()));
        assert!(values.iter().any(|value| value.starts_with("-----BEGIN")));
        assert!(
            !values.iter().any(|value| value == "service_account" || value == "acme-prod-17"),
            "{values:?}"
        );
    }
}
