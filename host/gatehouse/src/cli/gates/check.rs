//! `gatehouse gates check`: tests a component against the contract.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::CommandError;
use crate::{
    check::{self, CheckLine, CheckStatus},
    compose::Composition,
    config::{Config, ConfigText, Env},
    out,
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Component file
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Checks the gate without `presets.toml` and grants, and with default limits.
pub(super) async fn run(arguments: &Arguments, env: &Env) -> Result<(), CommandError> {
    let empty = Config::parse(&ConfigText { file: None, content: String::new() }, env)?;
    let composition = Composition::new(empty, env)?;
    let lines = match composition.gates.load_granted(&arguments.file).await {
        Ok(gate) => check::run(&gate).await,
        Err(why) => vec![CheckLine::failed(check::IS_A_GATE, why)],
    };
    let failed = lines.iter().filter(|line| line.verdict == CheckStatus::Failed).count();
    if arguments.json {
        out::json(&json!({"file": arguments.file, "passed": failed == 0, "checks": lines}));
    } else {
        lines.iter().for_each(print);
    }
    if failed == 0 {
        return Ok(());
    }
    Err(CommandError::failed(format!(
        "{}: {failed} of {} checks failed",
        arguments.file.display(),
        lines.len()
    )))
}

fn print(line: &CheckLine) {
    let verdict = match line.verdict {
        CheckStatus::Ok => "ok     ",
        CheckStatus::Failed => "FAILED ",
        CheckStatus::Warning => "warning",
        CheckStatus::Skipped => "skipped",
    };
    let said = if line.said.is_empty() { String::new() } else { format!(": {}", line.said) };
    out::line(format!("{verdict}  {}{said}", line.check));
}
