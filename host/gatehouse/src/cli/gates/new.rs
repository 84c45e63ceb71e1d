//! `gatehouse gates new`: creates a project for a gate.

use std::{fs, path::PathBuf};

use clap::Args;

use super::CommandError;
use crate::{
    config::trust,
    out,
    scaffold::{self, Language},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Name of the gate: words of a-z and 0-9, with - between them
    name: String,
    /// Language of the project
    #[arg(long, value_enum, default_value = "rust")]
    lang: Language,
    /// Directory to create [default: ./NAME]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let Arguments { name, lang, dir } = arguments;
    let folder = dir.clone().unwrap_or_else(|| PathBuf::from(name));
    let files = scaffold::create(name, *lang, &folder).map_err(CommandError::Usage)?;
    // Trust the new file: the user requested it. Its later changes need `gatehouse trust`.
    let presets = folder.join("presets.toml").canonicalize();
    let presets = presets.and_then(|file| Ok((fs::read(&file)?, file)));
    if let Ok((content, file)) = presets {
        trust::add(&file, &content)?;
    }
    out::line(format!("created {} with {} files; see README.md", folder.display(), files.len()));
    out::line("\nnext:");
    out::line(format!("  cd {}", folder.display()));
    for line in lang.prepare() {
        out::line(format!("  {line}"));
    }
    out::line(format!("  {}", lang.test()));
    out::line("  gatehouse gates build");
    out::line(format!("  gatehouse gates check {name}.wasm"));
    Ok(())
}
