//! Converts variables in clients' syntax to `${NAME}`, and replaces literal secrets by variables.

use std::{collections::BTreeMap, path::Path};

use gatehouse_core::http::{Secret, is_token};
use serde_json::{Map, Value};

use super::{ImportClient, ImportContext, PlainError};
use crate::config::credentials::{self, CredentialSpan, is_variable};

/// Converts a text. The error names a variable that only the client can fill in; notes describe differences.
pub(super) fn convert(
    client: ImportClient,
    context: &ImportContext<'_>,
    text: &str,
    notes: &mut Vec<String>,
) -> Result<String, PlainError> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(&bare(client, before));
        let Some(end) = closing_brace(after) else {
            bail!("'${{{after}' is not closed");
        };
        out.push_str(&resolve(client, context, &after[..end], notes)?);
        rest = &after[end + 1..];
    }
    out.push_str(&bare(client, rest));
    Ok(out)
}

/// Returns the place of the brace that ends a variable, whose default may have variables.
fn closing_brace(text: &str) -> Option<usize> {
    let mut open = 1;
    text.char_indices().find_map(|(place, c)| {
        match c {
            '{' if text[..place].ends_with('$') => open += 1,
            '}' => open -= 1,
            _ => {}
        }
        (open == 0).then_some(place)
    })
}

fn resolve(
    client: ImportClient,
    context: &ImportContext<'_>,
    inside: &str,
    notes: &mut Vec<String>,
) -> Result<String, PlainError> {
    let folder = |path: Option<&Path>| path.map(|path| path.display().to_string());
    let value = match inside {
        "workspaceFolder" | "workspaceRoot" => folder(Some(context.workspace())),
        "workspaceFolderBasename" => folder(context.workspace().file_name().map(Path::new)),
        "userHome" => folder(context.home),
        "/" | "pathSeparator" => Some("/".into()),
        _ => None,
    };
    if let Some(value) = value {
        return Ok(value);
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside.strip_prefix("env:").unwrap_or(inside), None),
    };
    if let Some(id) = inside.strip_prefix("input:") {
        let name = variable(id);
        notes.push(format!("the client asks for '{id}'; here it is the environment variable {name}"));
        return Ok(format!("${{{name}}}"));
    }
    // Editors' predefined variables have the same syntax as environment variables.
    let editor = matches!(client, ImportClient::Vscode | ImportClient::Cursor) && !inside.starts_with("env:");
    if editor || !is_variable(name) {
        bail!("it uses ${{{inside}}}, which only its client can fill in");
    }
    match default {
        Some(default) if is_token(default) => {
            notes.push(format!("set {name}; its default is not copied, because it looks like a secret"));
            Ok(format!("${{{name}}}"))
        }
        Some(default) => Ok(format!("${{{name}:-{}}}", convert(client, context, default, notes)?)),
        None => Ok(format!("${{{name}}}")),
    }
}

/// Converts `$NAME`, which Gemini also supports.
fn bare(client: ImportClient, text: &str) -> String {
    if client != ImportClient::Gemini {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let (name, following) = after.split_at(end);
        out.push_str(before);
        out.push_str(&if is_variable(name) { format!("${{{name}}}") } else { format!("${name}") });
        rest = following;
    }
    out.push_str(rest);
    out
}

/// Returns a variable name for a phrase: `github token` becomes GITHUB_TOKEN.
fn variable(words: &str) -> String {
    let letters: String =
        words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let name = letters.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if is_variable(&name) { name } else { format!("VALUE_{name}") }
}

/// Variables that replace literal secrets in clients' files. The values are never shown.
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
                let spans = credentials::in_value(name, text).into_iter().collect();
                let variable_name = (key == "env" && is_variable(name)).then_some(name.as_str());
                self.replace(server, variable_name, text, spans, |_| place(format!("{key}.{name}"), None));
            }
        }
        if let Some(Value::Array(args)) = definition.get_mut("args") {
            let texts: Vec<&str> = args.iter().map(|arg| arg.as_str().unwrap_or_default()).collect();
            let spans_by_arg = credentials::in_args(&texts);
            for (index, (arg, spans)) in args.iter_mut().zip(spans_by_arg).enumerate() {
                let Value::String(text) = arg else { continue };
                self.replace(server, None, text, spans, |name| place(format!("args[{index}]"), name));
            }
        }
        if let Some(Value::String(url)) = definition.get_mut("url") {
            let spans = credentials::in_url(url);
            self.replace(server, None, url, spans, |name| place("url".into(), name));
        }
    }

    pub(crate) fn values(&self) -> BTreeMap<String, Secret> {
        self.0.iter().map(|(name, taken)| (name.clone(), Secret::new(&*taken.value))).collect()
    }

    pub(crate) fn into_variables(self) -> Vec<(String, String)> {
        self.0.into_iter().map(|(name, taken)| (name, taken.location)).collect()
    }

    /// Replaces credentials in `text`. `variable_name` is the variable that the text is the value of; `place` describes
    /// a location.
    fn replace(
        &mut self,
        server: &str,
        variable_name: Option<&str>,
        text: &mut String,
        spans: Vec<CredentialSpan>,
        place: impl Fn(Option<&str>) -> String,
    ) {
        // Replace from the end, so that earlier ranges stay valid.
        for CredentialSpan { range, name } in spans.into_iter().rev() {
            let value = text[range.clone()].to_owned();
            let mut stands = place(name.as_deref());
            if let Some(before) = text[..range.start].strip_suffix(' ') {
                let word = before.rsplit(' ').next().unwrap_or(before);
                stands.push_str(&format!(", without '{word} '"));
            }
            let words = name.as_deref().unwrap_or("token");
            let preferred_name =
                variable_name.map_or_else(|| variable(&format!("{server} {words}")), str::to_owned);
            let named = self.variable(server, preferred_name, &value, stands);
            text.replace_range(range, &format!("${{{named}}}"));
        }
    }

    /// Returns this server's variable for the same value, else the wanted one, prefixed with the server's name if it
    /// has another value.
    fn variable(&mut self, server: &str, preferred_name: String, value: &str, stands: String) -> String {
        let same = |existing: &SecretVariable| existing.value == value && existing.server == server;
        if let Some((name, _)) = self.0.iter().find(|(_, existing)| same(existing)) {
            return name.clone();
        }
        let free =
            |existing: Option<&SecretVariable>| existing.is_none_or(|existing| existing.value == value);
        let mut name = preferred_name;
        while !free(self.0.get(&name)) {
            name = variable(&format!("{server} {name}"));
        }
        let secret_variable =
            SecretVariable { server: server.to_owned(), value: value.to_owned(), location: stands };
        self.0.entry(name.clone()).or_insert(secret_variable);
        name
    }
}
