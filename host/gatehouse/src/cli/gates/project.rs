//! `gatehouse gates new` and `build`: create a project for a gate, and build its component.

use std::{fs, path::PathBuf, time::Instant};

use clap::Args;
use serde_json::json;

use super::{CommandError, install::listed};
use crate::{
    config::{keys, trust},
    out,
    progress::ProgressTicker,
    scaffold::{self, BuiltComponent, GateProject, Language},
    signals,
};

#[derive(Args)]
pub(crate) struct NewGateArgs {
    /// Name of the gate: words of a-z and 0-9, with - between them
    name: String,
    /// Language of the project
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,
    /// Directory to create [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn create(arguments: &NewGateArgs) -> Result<(), CommandError> {
    let NewGateArgs { name, lang, dir } = arguments;
    let folder = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    let files = scaffold::create(name, *lang, &folder).map_err(CommandError::usage)?;
    // Trust the new file: the user requested it. Its later changes need `gatehouse trust`.
    let presets = folder.join("presets.toml").canonicalize();
    let presets = presets.and_then(|file| Ok((fs::read(&file)?, file)));
    if let Ok((content, file)) = presets {
        trust::add(&file, &content)?;
    }
    out::line(format!("created {} with {} files; see README.md", folder.display(), files.len()));
    out::line("\nnext:");
    out::line(format!("  cd {}", folder.display()));
    for line in lang.tools().prepare {
        out::line(format!("  {line}"));
    }
    out::line(format!("  {}", lang.tools().test));
    out::line("  gatehouse gates build");
    out::line(format!("  gatehouse gates check {name}.wasm"));
    Ok(())
}

#[derive(Args)]
pub(crate) struct BuildGateArgs {
    /// Directory of the project
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn build(arguments: &BuildGateArgs) -> Result<(), CommandError> {
    let stop = signals::shutdown_token(None);
    tokio::select! {
        done = build_project(arguments) => done,
        () = stop.cancelled() => Err(CommandError::failed("interrupted; nothing was replaced")),
    }
}

async fn build_project(arguments: &BuildGateArgs) -> Result<(), CommandError> {
    let project = GateProject::find(&arguments.dir).map_err(CommandError::usage)?;
    let start = Instant::now();
    let building = ProgressTicker::start(format!("building {}", project.name));
    let component = scaffold::build(&project).await?;
    drop(building);
    let file = project.folder.join(format!("{}.wasm", project.name));
    scaffold::write_if_changed(&component.bytes, &file)?;
    let BuiltComponent { bytes, info } = &component;
    let (digest, presets) = (&info.digest, component.presets(&project.name, &file));
    let mut asks: Vec<String> = info.ask.capabilities.iter().map(ToString::to_string).collect();
    asks.sort();
    if arguments.json {
        out::json(&json!({"name": project.name, "file": file, "bytes": bytes.len(), "sha256": digest,
                          "asks": asks, "imports": info.ask.others, "presets": presets}));
        return Ok(());
    }
    let seconds = start.elapsed().as_secs_f64();
    // The output is TOML, so that users can paste it or append it with `>>`.
    out::line(format!("# built        {} ({} bytes) in {seconds:.1} s", file.display(), bytes.len()));
    out::line(format!("# asks for     {}", listed(&asks)));
    out::line(format!("# imports      {}", listed(&info.ask.others)));
    out::line(format!("# sha256       {digest}"));
    out::line("#");
    if project.is_configured() {
        out::line("# The project's presets.toml has it: run `gatehouse serve` in its directory to serve it.");
        return Ok(());
    }
    let preset = keys::toml_key(&project.name);
    out::line(format!(
        "# To serve it, add this to a presets.toml and run `gatehouse serve --preset {preset}`:\n"
    ));
    out::line(presets.trim_end());
    Ok(())
}
