//! Supported clients: the locations of their configuration files, and the keys that contain MCP servers.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::Value;

use super::PlainError;
use crate::config::parse_errors;

/// A client with a file of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportClient {
    /// .mcp.json, ~/.claude.json
    ClaudeCode,
    /// claude_desktop_config.json
    ClaudeDesktop,
    /// .cursor/mcp.json, ~/.cursor/mcp.json
    Cursor,
    /// .vscode/mcp.json
    Vscode,
    /// ~/.codex/config.toml
    Codex,
    /// ~/.gemini/settings.json, .gemini/settings.json
    Gemini,
    /// cline_mcp_settings.json
    Cline,
    /// .roo/mcp.json, mcp_settings.json
    Roo,
}

/// VS Code's user settings directories relative to the home directory, one for each operating system.
const EDITOR_FOLDERS: [&str; 3] =
    [".config/Code/User", "Library/Application Support/Code/User", "AppData/Roaming/Code/User"];

#[derive(Default)]
pub(super) struct ServerEntries {
    pub(super) servers: Vec<(String, Value)>,
    /// Directories of other projects with servers in the file, and the number of servers.
    pub(super) elsewhere: Vec<(PathBuf, usize)>,
}

/// Returns the entries of a server table. A file with other settings may have no table.
fn servers_by_name(servers: Option<&Value>) -> Result<Vec<(String, Value)>, PlainError> {
    let Some(servers) = servers else { return Ok(Vec::new()) };
    let servers = servers.as_object().ok_or("its servers are not a table keyed by name")?;
    Ok(servers.iter().map(|(name, entry)| (name.clone(), entry.clone())).collect())
}

/// Returns whether a document is the table of servers itself.
fn is_server_map(document: &Value) -> bool {
    document.as_object().is_some_and(|servers| !servers.is_empty() && servers.values().all(is_server))
}

fn is_server(entry: &Value) -> bool {
    ["command", "url", "serverUrl", "httpUrl"].iter().any(|key| entry.get(key).is_some_and(Value::is_string))
}

impl ImportClient {
    pub(crate) const fn in_project(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some(".mcp.json"),
            Self::Cursor => Some(".cursor/mcp.json"),
            Self::Vscode => Some(".vscode/mcp.json"),
            Self::Gemini => Some(".gemini/settings.json"),
            Self::Codex => Some(".codex/config.toml"),
            Self::Roo => Some(".roo/mcp.json"),
            Self::ClaudeDesktop | Self::Cline => None,
        }
    }

    /// Returns the candidate paths of the client's files in the home directory, for all operating systems.
    pub(crate) fn in_home(self, home: &Path) -> Vec<PathBuf> {
        let extension = |path: &str| EDITOR_FOLDERS.map(|folder| home.join(folder).join(path)).to_vec();
        let names: &[&str] = match self {
            Self::ClaudeCode => &[".claude.json"],
            Self::ClaudeDesktop => &[
                "Library/Application Support/Claude/claude_desktop_config.json",
                "AppData/Roaming/Claude/claude_desktop_config.json",
                ".config/Claude/claude_desktop_config.json",
            ],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::Vscode => return extension("mcp.json"),
            Self::Cline => {
                return extension("globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json");
            }
            Self::Roo => {
                return extension("globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json");
            }
            Self::Codex => &[".codex/config.toml"],
            Self::Gemini => &[".gemini/settings.json"],
        };
        names.iter().map(|name| home.join(name)).collect()
    }

    /// Guesses the client by file name and directory. Falls back to Claude Code, because most others share its format.
    pub(crate) fn from_file(file: &Path) -> Self {
        let [folder, name] = [file.parent(), Some(file)]
            .map(|path| path.and_then(Path::file_name).unwrap_or_default().to_string_lossy());
        match (&*folder, &*name) {
            (_, "claude_desktop_config.json") => Self::ClaudeDesktop,
            (".cursor", _) => Self::Cursor,
            (".vscode", _) | ("User", "mcp.json") => Self::Vscode,
            (_, name) if name.ends_with(".toml") => Self::Codex,
            (".gemini", _) => Self::Gemini,
            (".roo", _) | (_, "mcp_settings.json") => Self::Roo,
            (_, "cline_mcp_settings.json") => Self::Cline,
            _ => Self::ClaudeCode,
        }
    }

    /// Reads the servers of a file, those for the current project first. The error is the reason that the file is not
    /// valid for this client.
    pub(super) fn entries(self, text: &str, project: &[PathBuf]) -> Result<ServerEntries, PlainError> {
        let document = self.read(text)?;
        let mut entries = ServerEntries::default();
        if self == Self::ClaudeCode {
            let mut here = Vec::new();
            for (directory, settings) in
                document.get("projects").and_then(Value::as_object).into_iter().flatten()
            {
                let (directory, servers) =
                    (Path::new(directory), servers_by_name(settings.get("mcpServers"))?);
                let real = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
                match project.iter().position(|folder| *folder == real) {
                    Some(above) => here.push((above, servers)),
                    None if servers.is_empty() => {}
                    None => entries.elsewhere.push((directory.to_path_buf(), servers.len())),
                }
            }
            here.sort_by_key(|(above, _)| *above);
            entries.servers.extend(here.into_iter().flat_map(|(_, servers)| servers));
        }
        let keys: &[&[&str]] = match self {
            Self::Codex => &[&["mcp_servers"]],
            Self::Vscode => &[&["servers"], &["mcp", "servers"], &["mcpServers"]],
            _ => &[&["mcpServers"], &["servers"]],
        };
        let at = |path: &&[&str]| path.iter().try_fold(&document, |value, key| value.get(key));
        let server_map = keys.iter().find_map(at).or_else(|| is_server_map(&document).then_some(&document));
        entries.servers.extend(servers_by_name(server_map)?);
        if entries.servers.is_empty() && is_server(&document) {
            return Err("has one server without a name; write {\"mcpServers\": {\"NAME\": {…}}}".into());
        }
        Ok(entries)
    }

    fn read(self, text: &str) -> Result<Value, PlainError> {
        if self == Self::Codex {
            parse_errors::check_nesting(text).map_err(|(_, reason)| format!("is not TOML: {reason}"))?;
            let table: toml::Table = text.parse().map_err(|error| format!("is not TOML: {error}"))?;
            return serde_json::to_value(table).map_err(|error| format!("cannot be read: {error}").into());
        }
        serde_json::from_str(&plain_json(text)).map_err(|error| format!("is not JSON: {error}").into())
    }
}

/// Converts JSON with comments and trailing commas, as editors write it, to plain JSON. Line numbers stay the same, so
/// that positions in errors are right.
fn plain_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    // Position of the last comma in `out`, as long as only whitespace follows it.
    let mut comma = None;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) => {
                comma = None;
                out.push(c);
                while let Some(c) = chars.next() {
                    out.push(c);
                    match c {
                        '\\' => out.extend(chars.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push(c);
                    }
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            ('}' | ']', _) => {
                if let Some(place) = comma.take() {
                    out.replace_range(place..=place, " ");
                }
                out.push(c);
            }
            (c, _) => {
                if !c.is_whitespace() {
                    comma = None;
                }
                out.push(c);
            }
        }
    }
    out
}
