//! `gatehouse gates new`, `build` and `check`: create a project for a gate, build its component, and test a component
//! against the contract.

use std::{fs, path::PathBuf, time::Instant};

use clap::Args;
use serde_json::json;

use super::{CommandError, CommandResult, OutputFormat, install::listed};
use crate::{
    check::{self, CheckLine, CheckStatus},
    compose::Composition,
    config::{Config, ConfigText, Env, keys, trust},
    out,
    progress::ProgressTicker,
    scaffold::{self, BuiltComponent, GateProject, Language, ProjectTemplate},
    signals,
};

#[derive(Args)]
pub(crate) struct NewGateArgs {
    /// Name of the gate: words of a-z and 0-9, with - between them
    name: String,
    /// Language of the project
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,
    /// Create a converter of documents instead of a gate with tools
    #[arg(long)]
    converter: bool,
    /// Directory to create [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn create(arguments: &NewGateArgs) -> CommandResult {
    let NewGateArgs { name, lang, converter, dir } = arguments;
    let folder = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    let template = if *converter { ProjectTemplate::Converter } else { ProjectTemplate::Tools };
    let files = scaffold::create(name, *lang, template, &folder).map_err(CommandError::usage)?;
    // Trust the new file: the user requested it. Its later changes need `gatehouse trust`.
    let presets = folder.join("presets.toml").canonicalize();
    if let Ok((content, file)) = presets.and_then(|file| Ok((fs::read(&file)?, file))) {
        trust::add(&file, &content)?;
    }
    out::line(format!("created {} with {} files; see README.md", folder.display(), files.len()));
    out::line(format!("\nnext:\n  cd {}", folder.display()));
    for line in lang.tools().prepare.iter().chain([&lang.tools().test]) {
        out::line(format!("  {line}"));
    }
    out::line(format!("  gatehouse gates build\n  gatehouse gates check {name}.wasm"));
    Ok(())
}

#[derive(Args)]
pub(crate) struct BuildGateArgs {
    /// Directory of the project
    #[arg(default_value = ".")]
    dir: PathBuf,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) async fn build(arguments: &BuildGateArgs) -> CommandResult {
    let stop = signals::shutdown_token(None);
    tokio::select! {
        done = build_project(arguments) => done,
        () = stop.cancelled() => Err(CommandError::failed("interrupted; nothing was replaced")),
    }
}

async fn build_project(arguments: &BuildGateArgs) -> CommandResult {
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
    let display_path = file.display().to_string();
    let report = json!({"name": project.name, "file": display_path, "bytes": bytes.len(), "sha256": digest,
                        "asks": asks, "imports": info.ask.others, "presets": presets});
    arguments.output.print(&report, || {
        let seconds = start.elapsed().as_secs_f64();
        // The output is TOML, so that users can paste it or append it with `>>`.
        out::line(format!("# built        {} ({} bytes) in {seconds:.1} s", file.display(), bytes.len()));
        out::line(format!("# asks for     {}", listed(&asks)));
        out::line(format!("# imports      {}", listed(&info.ask.others)));
        out::line(format!("# sha256       {digest}\n#"));
        if project.is_configured() {
            let command = if info.is_converter() {
                "docs add DIR` in its directory to use"
            } else {
                "serve` in its directory to serve"
            };
            return out::line(format!("# The project's presets.toml has it: run `gatehouse {command} it."));
        }
        if info.is_converter() {
            return out::line(format!("# To use it, add this to a presets.toml:\n\n{}", presets.trim_end()));
        }
        let preset = keys::toml_key(&project.name);
        out::line(format!(
            "# To serve it, add this to a presets.toml and run `gatehouse serve --preset {preset}`:\n\n{}",
            presets.trim_end()
        ));
    });
    Ok(())
}

#[derive(Args)]
pub(crate) struct CheckGateArgs {
    /// Component file
    file: PathBuf,
    #[command(flatten)]
    output: OutputFormat,
}

/// Checks the gate without `presets.toml` and grants, and with default limits.
pub(super) async fn check(arguments: &CheckGateArgs, env: &Env) -> CommandResult {
    let empty = Config::parse(&ConfigText { file: None, content: String::new() }, env)?;
    let composition = Composition::new(empty, env)?;
    let lines = match composition.gates.load_granted(&arguments.file).await {
        Ok(gate) => check::run(&gate).await,
        Err(reason) => vec![CheckLine::failed(check::IS_A_GATE, reason)],
    };
    let failed = CheckLine::count_failed(&lines);
    let report =
        json!({"file": arguments.file.display().to_string(), "passed": failed == 0, "checks": lines});
    arguments.output.print(&report, || lines.iter().for_each(print_check));
    if failed > 0 {
        bail!("{}: {failed} of {} checks failed", arguments.file.display(), lines.len());
    }
    Ok(())
}

fn print_check(line: &CheckLine) {
    let verdict = match line.verdict {
        CheckStatus::Ok => "ok     ",
        CheckStatus::Failed => "FAILED ",
        CheckStatus::Warning => "warning",
        CheckStatus::Skipped => "skipped",
    };
    let detail = if line.said.is_empty() { String::new() } else { format!(": {}", line.said) };
    out::line(format!("{verdict}  {}{detail}", line.check));
}
