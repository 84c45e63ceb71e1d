//! Converts one entry of a client's file to the keys of `[servers.NAME]`.

use std::path::Path;

use serde_json::{Map, Value};

use super::{ImportClient, ImportContext, PlainError, set_keys, variables};
use crate::config::credentials::is_variable;

/// Keys that are converted or deliberately ignored.
const HANDLED_KEYS: [&str; 24] = [
    "type",
    "transport",
    "command",
    "args",
    "env",
    "cwd",
    "url",
    "serverUrl",
    "httpUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "env_vars",
    "enabled",
    "disabled",
    "timeout",
    "tool_timeout_sec",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tags",
    "name",
    "description",
    "trust",
];

/// Returns the keys of `[servers.NAME]`, in output order. The error is the reason that the entry cannot be imported.
pub(super) fn definition(
    client: ImportClient,
    context: &ImportContext<'_>,
    entry: &Value,
    notes: &mut Vec<String>,
) -> Result<Map<String, Value>, PlainError> {
    let entry = entry.as_object().ok_or("it is not a table")?;
    let mut reader = EntryReader { client, context, entry, notes, made: Map::new() };
    match reader.transport()? {
        EntryTransport::Program => reader.program()?,
        EntryTransport::Http => reader.address()?,
        EntryTransport::Sse => {
            reader.address()?;
            reader.made.insert("transport".into(), "sse".into());
        }
    }
    if entry.get("enabled") == Some(&false.into()) || entry.get("disabled") == Some(&true.into()) {
        reader.made.insert("enabled".into(), false.into());
    }
    reader.timeouts();
    let EntryReader { made, .. } = reader;
    let unknown: Vec<&str> =
        entry.keys().map(String::as_str).filter(|key| !HANDLED_KEYS.contains(key)).collect();
    if !unknown.is_empty() {
        notes.push(format!("ignored keys: {}", unknown.join(", ")));
    }
    Ok(made)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

enum EntryTransport {
    Program,
    Http,
    Sse,
}

struct EntryReader<'a> {
    client: ImportClient,
    context: &'a ImportContext<'a>,
    entry: &'a Map<String, Value>,
    notes: &'a mut Vec<String>,
    made: Map<String, Value>,
}

impl EntryReader<'_> {
    fn text(&self, key: &str) -> Result<Option<&str>, PlainError> {
        match self.entry.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("its {key} is not a string").into()),
        }
    }

    fn convert_variables(&mut self, text: &str) -> Result<Value, PlainError> {
        variables::convert(self.client, self.context, text, self.notes).map(Value::String)
    }

    fn transport(&self) -> Result<EntryTransport, PlainError> {
        let declared = self.text("type")?.or(self.text("transport")?);
        let (program, address) = (self.entry.contains_key("command"), self.address_key());
        Ok(match (declared, program, address) {
            (Some("stdio") | None, true, _) => EntryTransport::Program,
            (Some("sse"), _, Some(_)) => EntryTransport::Sse,
            (Some("http" | "streamable-http" | "streamableHttp" | "streamable_http"), _, Some(_)) => {
                EntryTransport::Http
            }
            // For these clients, `url` alone means the old SSE transport.
            (None, _, Some("url")) if matches!(self.client, ImportClient::Gemini | ImportClient::Cline) => {
                EntryTransport::Sse
            }
            (None, _, Some(_)) => EntryTransport::Http,
            (Some(other), ..) => {
                let reason = format!("its type '{other}' is not supported, or a required key is missing");
                return Err(reason.into());
            }
            (None, false, None) => return Err("it has neither a command nor a url".into()),
        })
    }

    fn address_key(&self) -> Option<&'static str> {
        ["httpUrl", "url", "serverUrl"].into_iter().find(|key| self.entry.contains_key(*key))
    }

    fn program(&mut self) -> Result<(), PlainError> {
        let command = self.text("command")?.ok_or("it has no command")?.to_owned();
        let mut args = match self.entry.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) => args.clone(),
            Some(_) => return Err("its args are not a list".into()),
        };
        let (command, own_args) = self.split_command(&command);
        args.splice(..0, own_args.into_iter().map(Value::String));
        let command = self.in_home(&command);
        let command = self.convert_variables(&command)?;
        let mut env = self.pairs("env")?;
        for name in passed_on_by_docker(text(&command), &args) {
            // Docker passes on what its own environment has.
            env.entry(name.clone()).or_insert_with(|| format!("${{{name}:-}}").into());
        }
        for name in self.names("env_vars")? {
            env.insert(name.clone(), format!("${{{name}}}").into());
        }
        let mut converted = Vec::new();
        for arg in &args {
            let arg = self.in_home(arg.as_str().ok_or("its args are not all strings")?);
            let mut arg = self.convert_variables(&arg)?;
            // Variables of its own, which the program fills in from `env` and the host does not.
            for (name, value) in &env {
                arg = text(&arg).replace(&format!("${{{name}}}"), text(value)).into();
            }
            converted.push(arg);
        }
        let cwd = self.text("cwd")?.map(|cwd| self.in_home(cwd));
        let cwd = cwd.map(|cwd| self.convert_variables(&cwd)).transpose()?;
        self.made.extend(set_keys([
            ("command", command),
            ("args", converted.into()),
            ("env", env.into()),
            ("cwd", cwd.into()),
        ]));
        if self.entry.contains_key("envFile") {
            self.notes.push("its envFile is not read; list its variables under env".into());
        }
        Ok(())
    }

    /// Splits a command line that was written as the command, unless there is such a file.
    fn split_command(&mut self, command: &str) -> (String, Vec<String>) {
        let mut words = command.split_whitespace().map(str::to_owned);
        let (first, rest) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
        let is_line = !rest.is_empty() && !command.contains(['"', '\'', '$']);
        if !is_line || self.context.workspace().join(self.in_home(command)).exists() {
            return (command.to_owned(), Vec::new());
        }
        self.notes.push(format!("its command '{command}' is split into a program and its arguments"));
        (first, rest)
    }

    /// Replaces `~` at the start of a path by the home directory, as a shell does.
    fn in_home(&self, path: &str) -> String {
        match (path.strip_prefix("~/"), self.context.home) {
            (Some(rest), Some(home)) => home.join(rest).display().to_string(),
            _ => path.to_owned(),
        }
    }

    fn address(&mut self) -> Result<(), PlainError> {
        let key = self.address_key().ok_or("it has no url")?;
        let url = self.text(key)?.ok_or("it has no url")?.to_owned();
        let url = self.convert_variables(&url)?;
        let mut headers = self.pairs("headers")?;
        headers.append(&mut self.pairs("http_headers")?);
        for (header, variable) in self.pairs("env_http_headers")? {
            headers.insert(header, format!("${{{}}}", variable.as_str().unwrap_or_default()).into());
        }
        if let Some(variable) = self.text("bearer_token_env_var")? {
            headers.insert("Authorization".into(), format!("Bearer ${{{variable}}}").into());
        }
        self.made.extend(set_keys([("url", url), ("headers", headers.into())]));
        Ok(())
    }

    fn pairs(&mut self, key: &str) -> Result<Map<String, Value>, PlainError> {
        let pairs = match self.entry.get(key) {
            None | Some(Value::Null) => return Ok(Map::new()),
            Some(Value::Object(pairs)) => pairs.clone(),
            Some(_) => return Err(format!("its {key} is not a table").into()),
        };
        let mut converted = Map::new();
        for (name, value) in pairs {
            let text = match value {
                Value::String(text) => text,
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                _ => return Err(format!("{key}.{name} is not a string").into()),
            };
            converted.insert(name, self.convert_variables(&text)?);
        }
        Ok(converted)
    }

    fn names(&self, key: &str) -> Result<Vec<String>, PlainError> {
        let Some(names) = self.entry.get(key) else { return Ok(Vec::new()) };
        let names = names.as_array().ok_or_else(|| format!("its {key} is not a list"))?;
        let strings = names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>();
        strings.ok_or_else(|| format!("its {key} are not all strings").into())
    }

    fn timeouts(&mut self) {
        let number = |key: &str| self.entry.get(key).and_then(Value::as_f64).filter(|number| *number > 0.0);
        let mut timeout = number("timeout");
        match (self.client, timeout) {
            (_, None) | (ImportClient::Cline | ImportClient::Roo, _) => {}
            // Other clients count in milliseconds or in seconds. A limit below one second is useless, so a small number
            // means seconds.
            (client, Some(small)) if client != ImportClient::Gemini && small < 1_000.0 => {
                self.notes.push(format!("its timeout of {small} is read as seconds"));
            }
            (_, Some(ms)) => timeout = Some(ms / 1_000.0),
        }
        let call = number("tool_timeout_sec").or(timeout);
        let start = number("startup_timeout_sec").or_else(|| Some(number("startup_timeout_ms")? / 1_000.0));
        for (key, seconds, most) in [("timeout", call, 3_600.0), ("connection_timeout", start, 600.0)] {
            let Some(seconds) = seconds.map(f64::ceil) else { continue };
            if seconds > most {
                self.notes.push(format!("its {key} of {seconds} s is reduced to {most} s, the maximum"));
            }
            self.made.insert(key.into(), format!("{} s", seconds.min(most)).into());
        }
    }
}

/// Returns the variables that `docker run -e NAME` takes from the environment of docker.
fn passed_on_by_docker(command: &str, args: &[Value]) -> Vec<String> {
    let program = Path::new(command).file_stem().unwrap_or_default();
    if !["docker", "podman"].iter().any(|runtime| program == *runtime) {
        return Vec::new();
    }
    let options = args.iter().map(text);
    let values = args.iter().skip(1).map(text).chain([""]);
    let named = options.zip(values).filter_map(|(option, value)| match option {
        "-e" | "--env" => Some(value),
        _ => option.strip_prefix("--env=").or_else(|| option.strip_prefix("-e")),
    });
    named.filter(|name| is_variable(name)).map(str::to_owned).collect()
}
