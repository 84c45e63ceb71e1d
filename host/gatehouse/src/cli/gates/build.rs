//! `gatehouse gates build`: builds the component of a gate's project.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use serde_json::json;

use super::{CommandError, install::listed};
use crate::{
    config::keys,
    out,
    progress::ProgressTicker,
    scaffold::{self, BuiltComponent, GateProject},
    signals,
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Directory of the project
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let stop = signals::shutdown_token(None);
    tokio::select! {
        done = build(arguments) => done,
        () = stop.cancelled() => Err(CommandError::Failed("interrupted; nothing was replaced".into())),
    }
}

async fn build(arguments: &Arguments) -> Result<(), CommandError> {
    let project = GateProject::find(&arguments.dir).map_err(CommandError::Usage)?;
    let start = Instant::now();
    let building = ProgressTicker::start(format!("building {}", project.name));
    let component = scaffold::build(&project).await.map_err(CommandError::Failed)?;
    drop(building);
    let file = project.folder.join(format!("{}.wasm", project.name));
    scaffold::write_if_changed(&component.bytes, &file).map_err(CommandError::Failed)?;
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
