//! The values to redact in everything that a server sends.

use std::path::Path;

use gatehouse_core::{
    http::{Secret, secret::is_secret_name},
    names::quoted,
};

use crate::config::{ConfigError, ConfigText, PlainError, TextValue, credentials::CredentialSpan};

/// Minimum length of a redacted value. A shorter one would be found in other words by chance.
const MIN_LENGTH: usize = 8;

/// Variables whose values occur in ordinary replies.
const PUBLIC: [&str; 4] = ["PATH", "HOME", "USER", "TMPDIR"];

/// Values that one server's block contains or refers to.
#[derive(Default)]
pub(super) struct RedactionValues {
    /// Values by the names of their variables, headers and keys of `env`.
    pub(super) named: Vec<(String, String)>,
    credentials: Vec<String>,
}

impl RedactionValues {
    pub(super) fn variable(&mut self, name: &str, value: &Secret) {
        self.named.push((name.to_owned(), value.reveal().to_owned()));
        if is_secret_name(name) && !PUBLIC.contains(&name) {
            self.credential(value.reveal());
        }
    }

    pub(super) fn credentials(&mut self, text: &str, found: impl IntoIterator<Item = CredentialSpan>) {
        for CredentialSpan { range, .. } in found {
            self.credential(&text[range]);
        }
    }

    fn credential(&mut self, value: &str) {
        let is_path = value.contains('/') && Path::new(value).exists();
        if value.trim().len() >= MIN_LENGTH && !is_path && value.parse::<f64>().is_err() {
            self.credentials.push(value.to_owned());
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
            ("API_KEY", "short"),
            ("REGION", "eu-central-1"),
        ] {
            redaction.variable(name, &Secret::new(value));
        }
        let header = "Bearer another-s3cret";
        redaction.credentials(header, in_value("Authorization", header));
        assert_eq!(redacted(redaction), ["s3cret-value", "another-s3cret"]);
    }
}
