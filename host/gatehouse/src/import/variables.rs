//! Converts variables in clients' syntax to `${NAME}`.

use super::{ImportClient, ImportContext};
use crate::config::credentials::is_variable;

/// Converts a text. The error names a variable that only the client can fill in; notes describe differences.
pub(super) fn convert(
    client: ImportClient,
    context: &ImportContext<'_>,
    text: &str,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(&bare(client, before));
        let Some((inside, after)) = after.split_once('}') else {
            return Err(format!("'${{{after}' is not closed"));
        };
        out.push_str(&resolve(client, context, inside, notes)?);
        rest = after;
    }
    out.push_str(&bare(client, rest));
    Ok(out)
}

fn resolve(
    client: ImportClient,
    context: &ImportContext<'_>,
    inside: &str,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    let folder = |path: Option<&std::path::Path>| path.map(|path| path.display().to_string());
    let known = match inside {
        "workspaceFolder" | "workspaceRoot" => folder(Some(context.workspace())),
        "workspaceFolderBasename" => folder(context.workspace().file_name().map(std::path::Path::new)),
        "userHome" => folder(context.home),
        "/" | "pathSeparator" => Some("/".into()),
        _ => None,
    };
    if let Some(known) = known {
        return Ok(known);
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
        return Err(format!("it uses ${{{inside}}}, which only its client can fill in"));
    }
    if let Some(default) = default.filter(|default| !default.is_empty()) {
        notes.push(format!("set {name}; the client's default is \"{default}\""));
    }
    Ok(format!("${{{name}}}"))
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
pub(super) fn variable(words: &str) -> String {
    let letters: String =
        words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    let name = letters.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_");
    if is_variable(&name) { name } else { format!("VALUE_{name}") }
}
