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

/// A text with variables, such as `Bearer ${WEATHER_TOKEN}`.
///
/// `${NAME}` is the value of an environment variable. `${NAME:-default}` is `default` if the variable is not set or
/// empty. The default is a text with variables, too, and ends at the next `}` that is not part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretTemplate {
    /// Variables, each with the text before it.
    variables: Vec<(String, Variable)>,
    end: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    default: Option<SecretTemplate>,
}

/// Maximum depth of defaults within defaults.
const MAX_DEFAULTS: usize = 8;

/// The variables of a template in an environment.
#[derive(Default)]
pub struct ResolvedTemplate<'a> {
    /// The text, if no variable is missing.
    pub text: String,
    /// Variables with a value in the text.
    pub set: Vec<(&'a str, Secret)>,
    /// Variables without a value or a default.
    pub missing: Vec<&'a str>,
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
        Self::parse_part(text, 0).map(|(template, _)| template)
    }

    /// Parses a text, or the default of a variable at this depth, and returns what follows the template.
    fn parse_part(text: &str, depth: usize) -> Result<(Self, &str), InvalidValue> {
        ensure!(depth <= MAX_DEFAULTS, "has defaults more than {MAX_DEFAULTS} deep");
        let (mut variables, mut rest) = (Vec::new(), text);
        loop {
            let next = rest.find("${");
            if let Some(end) = rest.find('}').filter(|end| depth > 0 && next.is_none_or(|next| *end < next)) {
                let (end, after) = (rest[..end].to_owned(), &rest[end + 1..]);
                return Ok((Self { variables, end }, after));
            }
            let Some(start) = next else {
                ensure!(
                    depth == 0,
                    "'${{' is not closed; write variables as ${{NAME}} or ${{NAME:-default}}"
                );
                return Ok((Self { variables, end: rest.to_owned() }, ""));
            };
            let after = &rest[start + 2..];
            let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let (name, after) = after.split_at(after.find(|c| !letter(c)).unwrap_or(after.len()));
            let (default, after) = if let Some(after) = after.strip_prefix('}') {
                (None, after)
            } else if let Some(after) = after.strip_prefix(":-") {
                let (default, after) = Self::parse_part(after, depth + 1)?;
                let is_credential = default.variables.is_empty() && is_token(&default.end);
                ensure!(
                    !is_credential,
                    "has a credential as the default of ${name}; set the variable instead"
                );
                (Some(default), after)
            } else {
                return Err(not_a_variable(&rest[start + 2..]));
            };
            if !is_variable_name(name) {
                return Err(not_a_variable(&rest[start + 2..]));
            }
            variables.push((rest[..start].to_owned(), Variable { name: name.to_owned(), default }));
            rest = after;
        }
    }

    /// Looks the variables up, and their defaults if they are not set.
    pub fn resolve(&self, lookup: &dyn Fn(&str) -> Option<Secret>) -> ResolvedTemplate<'_> {
        let mut resolved = ResolvedTemplate::default();
        self.resolve_into(lookup, &mut resolved);
        resolved
    }

    fn resolve_into<'a>(
        &'a self,
        lookup: &dyn Fn(&str) -> Option<Secret>,
        resolved: &mut ResolvedTemplate<'a>,
    ) {
        for (before, Variable { name, default }) in &self.variables {
            resolved.text.push_str(before);
            match (lookup(name).filter(|value| !value.reveal().is_empty()), default) {
                (Some(value), _) => {
                    resolved.text.push_str(value.reveal());
                    resolved.set.push((name, value));
                }
                (None, Some(default)) => default.resolve_into(lookup, resolved),
                (None, None) => resolved.missing.push(name),
            }
        }
        resolved.text.push_str(&self.end);
    }

    /// Returns the variables, those in defaults included.
    pub fn variables(&self) -> Vec<&str> {
        let variable_names = self.variables.iter().flat_map(|(_, Variable { name, default })| {
            let within = default.as_ref().map(Self::variables).unwrap_or_default();
            std::iter::once(name.as_str()).chain(within)
        });
        variable_names.collect()
    }

    /// Expands the variables for the header `name`.
    ///
    /// A value without variables is a secret if `name` suggests a credential.
    pub fn fill(&self, name: &str, lookup: impl Fn(&str) -> Option<Secret>) -> FilledTemplate {
        let failed = |reason: String| FilledTemplate { value: Err(reason.into()), secrets: Vec::new() };
        let ResolvedTemplate { text: value, set, missing } = self.resolve(&lookup);
        if let Some(variable) = missing.first() {
            return failed(format!("needs the environment variable {variable}, which is not set"));
        }
        let is_broken = |value: &Secret| !header::is_value(value.reveal().as_bytes());
        if let Some((variable, _)) = set.iter().find(|(_, value)| is_broken(value)) {
            return failed(format!(
                "cannot hold the value of the environment variable {variable}: it contains a line break or control \
                character"
            ));
        }
        let mut secrets: Vec<Secret> = set.into_iter().map(|(_, value)| value).collect();
        if secrets.is_empty() && is_secret_name(name) {
            secrets.push(Secret::new(value.as_str()));
        }
        FilledTemplate { value: Ok(Secret::new(value)), secrets }
    }
}

/// Returns the error for a text after `${` that does not begin with a name.
fn not_a_variable(text: &str) -> InvalidValue {
    let Some((inside, _)) = text.split_once('}') else {
        return "'${' is not closed; write variables as ${NAME} or ${NAME:-default}".into();
    };
    let display_name = quoted(inside, 64);
    format!("'{display_name}' is not a variable name; write variables as ${{NAME}} or ${{NAME:-default}}")
        .into()
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Words that name a credential.
const SECRET_WORDS: &str = "authorization bearer cookie credential credentials key pass passcode passkey passphrase passwd \
    password pat pwd secret secrets token";

/// Words that suggest a credential, but name other things as well.
const SUGGESTIVE_WORDS: &str = "auth authentication cookies keys oauth passwords session tokens";

/// Endings of words that are written together, such as `PGPASSWORD` and `apikey`.
const SECRET_ENDINGS: &str = "auth key pass passphrase passwd password secret token";

/// Words with such an ending that are something else.
const OTHER_WORDS: &str = "author bypass compass donkey hockey hotkey jockey keyless monkey turkey whiskey";

/// Words before `key` that make it a credential. Others make it a name, as of `PROJECT_KEY` and `ROUTING_KEY`.
const KEY_PREFIXES: &str = "access account admin api app application auth client deploy encryption hmac license master \
    private secret service session shared signing ssh subscription user";

/// Last words of names of things about a credential, such as `TOKEN_URL`.
const ABOUT_WORDS: &str = "alg algorithm count dir directory domain enabled endpoint expires expiry file format header host \
    id issuer length limit max method min mode name path policy port prefix provider realm scope scopes server size store \
    timeout ttl type uri url version";

/// Returns true if a header or variable name suggests a credential. Compares whole words: `AUTHOR` does not.
pub fn is_secret_name(name: &str) -> bool {
    let words = name_words(name);
    words.iter().any(|word| is_secret_word(word) || is_among(SUGGESTIVE_WORDS, word))
}

/// Returns true if a name says that its value is a credential, as `API_KEY` and `DB_PASSWORD_PROD` do, but not
/// `TOKEN_URL` or `PROJECT_KEY`.
pub fn is_certain_secret_name(name: &str) -> bool {
    let words = name_words(name);
    let is_certain = |(index, word): (usize, &String)| {
        let before = index.checked_sub(1).map(|before| words[before].as_str());
        is_secret_word(word) && (word != "key" || before.is_none_or(|before| is_among(KEY_PREFIXES, before)))
    };
    words.iter().enumerate().any(is_certain) && words.last().is_some_and(|last| !is_among(ABOUT_WORDS, last))
}

fn is_secret_word(word: &str) -> bool {
    let has_ending = || SECRET_ENDINGS.split_whitespace().any(|ending| word.ends_with(ending));
    let is_other = || is_among(OTHER_WORDS, word) || is_among(SUGGESTIVE_WORDS, word);
    is_among(SECRET_WORDS, word) || (has_ending() && !is_other())
}

fn is_among(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|candidate| candidate == word)
}

/// Returns the words of a name in lower case, as of `API_KEY`, `x-api-key` and `apiKey`.
fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut after_lower = false;
    // Digits number a name, as of `TOKEN2`, and are no part of its words.
    for c in name.chars() {
        let starts = !c.is_ascii_alphabetic() || (after_lower && c.is_ascii_uppercase());
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_ascii_alphabetic()) {
            word.push(c.to_ascii_lowercase());
        }
        after_lower = c.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
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
mod tests;
