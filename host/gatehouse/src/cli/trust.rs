//! `gatehouse trust`: allows a `presets.toml` in a working directory to be used with its current content.

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use clap::Args;
use gatehouse_core::hash::sha256_hex;
use gatehouse_models::config::ProviderName;
use serde_json::{Value, json};

use super::{CommandError, CommandResult, OutputFormat, servers};
use crate::{
    config::{
        Config, ConfigText, Env, locate,
        trust::{self, TrustedFiles},
    },
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// File to trust
    #[arg(default_value = "presets.toml")]
    file: PathBuf,
    /// List trusted files
    #[arg(long, conflicts_with = "remove")]
    list: bool,
    /// Stop trusting the file; a running host keeps its configuration
    #[arg(long)]
    remove: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments, env: &Env) -> CommandResult {
    if arguments.list {
        return list(arguments.output);
    }
    if arguments.remove {
        return remove(arguments);
    }
    let cannot = |file: &Path, reason: &dyn fmt::Display| {
        CommandError::failed(format!("{}: cannot be read: {reason}", file.display()))
    };
    let file = arguments.file.canonicalize().map_err(|error| cannot(&arguments.file, &error))?;
    let bytes = locate::read_bounded(&file).map_err(|error| cannot(&arguments.file, &error))?;
    let content = String::from_utf8(bytes).map_err(|_| cannot(&file, &"it is not UTF-8 text"))?;
    let text = ConfigText { file: Some(file.clone()), content };
    let config = Config::parse(&text, env)?;
    trust::add(&file, text.content.as_bytes())?;
    let report = summary(&file, &text.content, &config);
    arguments.output.print(&report, || {
        out::line(format!("trusted {}", file.display()));
        for (key, values) in report["allows"].as_object().into_iter().flatten() {
            let values: Vec<&str> =
                values.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if !values.is_empty() {
                out::line(format!("{key:<11}{}", values.join("; ")));
            }
        }
        out::line(
            "After a change, trust the file again. Gates in its directories may change unless sha256 pins them.",
        );
    });
    Ok(())
}

/// Returns the permissions that the file grants, for a last check by the user.
fn summary(file: &Path, content: &str, config: &Config) -> Value {
    let display_path = |path: &PathBuf| path.display().to_string();
    let (mut grants, mut hosts, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    let served = config.served_gates();
    for (name, gate) in config.gates.iter().filter(|(name, gate)| !gate.shipped || served.contains(*name)) {
        let entries = gate.settings.grants.entries();
        if !entries.is_empty() {
            grants.push(format!("{name}: {}", entries.join(", ")));
        }
        hosts.extend(gate.settings.http.iter().map(|rules| format!("{name}: {}", rules.hosts().join(", "))));
        let seen = gate.settings.folders.iter().filter(|folder| !folder.private);
        folders.extend(seen.map(|folder| format!("{name}: {}", display_path(&folder.host))));
    }
    let providers = ProviderName::ALL.into_iter().filter_map(|name| {
        let address = config.models.settings(name).base_url.as_ref()?;
        Some(format!("{}: {address}", name.id()))
    });
    json!({
        "file": file,
        "sha256": sha256_hex(content),
        "allows": {
            "gates": config.gate_folders.iter().map(display_path).collect::<Vec<_>>(),
            "grants": grants,
            "hosts": hosts,
            "servers": config.servers.enabled().map(|server| format!("{}: {}", server.name, servers::reached_by(server))).collect::<Vec<_>>(),
            "folders": folders,
            "wikis": config.knowledge.wiki_roots.iter().map(display_path).collect::<Vec<_>>(),
            "models": providers.collect::<Vec<_>>(),
            "variables": variables(content),
        }
    })
}

/// Returns the variables that the file uses. It can send their values to servers.
fn variables(content: &str) -> BTreeSet<String> {
    fn collect(value: &toml::Value, into: &mut BTreeSet<String>) {
        match value {
            toml::Value::String(text) => {
                let named = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
                into.extend(named.map(|(name, _)| name.to_owned()));
            }
            toml::Value::Array(values) => values.iter().for_each(|value| collect(value, into)),
            toml::Value::Table(table) => table.values().for_each(|value| collect(value, into)),
            _ => {}
        }
    }
    let mut names = BTreeSet::new();
    if let Ok(table) = content.parse::<toml::Table>() {
        collect(&toml::Value::Table(table), &mut names);
    }
    names
}

fn list(output: OutputFormat) -> CommandResult {
    let trusted = TrustedFiles::read()?;
    let state = |file: &str| match locate::read_bounded(Path::new(file)) {
        Ok(content) if trusted.trusts(Path::new(file), &content) == Some(true) => "trusted",
        Ok(_) => "changed since",
        Err(_) => "not there",
    };
    let files = trusted.files.iter();
    let files: Vec<(&String, &String, &str)> =
        files.map(|(file, sha256)| (file, sha256, state(file))).collect();
    let report = |(file, sha256, state): &(&String, &String, &str)| json!({"file": file, "sha256": sha256, "state": state});
    output.print(&files.iter().map(report).collect::<Vec<_>>(), || {
        files.iter().for_each(|(file, _, state)| out::line(format!("{state:<14} {file}")));
        if files.is_empty() {
            out::line("no trusted files");
        }
    });
    Ok(())
}

/// Removes a file, which may no longer exist.
fn remove(arguments: &Arguments) -> CommandResult {
    let absolute = || std::path::absolute(&arguments.file).unwrap_or_else(|_| arguments.file.clone());
    let file = arguments.file.canonicalize().unwrap_or_else(|_| absolute());
    if !trust::remove(&file)? {
        bail!("{} was not trusted", file.display());
    }
    arguments.output.print(&json!({"file": file.display().to_string(), "state": "removed"}), || {
        out::line(format!("{} is no longer trusted", file.display()));
    });
    Ok(())
}
