//! `gatehouse init`: writes instructions for using this gateway into the files that a project's agents read.
//!
//! It shows the change before it writes, and can remove what it wrote.

mod managed_section;
mod section;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::{
    managed_section::{FileChange, PlannedContent, ProjectFile},
    section::SectionContext,
};
use super::{CommandError, CommandResult, GlobalArgs, PlainError, confirm_on_terminal};
use crate::{config::Env, out};

#[derive(Args)]
pub(super) struct Arguments {
    /// Preset that the agent uses [default: MCP_PRESET, else MCP_ENABLED_GATES, else default_preset]
    #[arg(long, value_name = "PRESET")]
    preset: Option<String>,
    /// Client to write for: .claude/CLAUDE.md and the command /gateway-init, AGENTS.md, or .cursor/rules/gatehouse.mdc
    #[arg(long, value_enum, default_value_t = InitTarget::Claude)]
    target: InitTarget,
    /// Write an agent skill instead, .claude/skills/gatehouse/SKILL.md, which costs tokens only when it is opened
    #[arg(long, conflicts_with = "target")]
    skill: bool,
    /// Name that the client gives this server
    #[arg(long, default_value = "gatehouse")]
    server: String,
    /// Directory of the project
    #[arg(long, value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Show the change and write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Remove everything that this command wrote, for all clients
    #[arg(long)]
    undo: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InitTarget {
    Claude,
    AgentsMd,
    Cursor,
}

struct TargetFile {
    name: &'static str,
    /// Start of a new file.
    head: &'static str,
    /// True if users also write in this file. Any other file belongs to this command.
    shared: bool,
    body: fn(&SectionContext) -> String,
}

const NO_TERMINAL: &str =
    "no terminal to ask for confirmation, so nothing was written; add --yes to write this, or --dry-run";

const COMMAND: &str = "---\ndescription: Explain the Gatehouse tools, and find those that help with a task\nargument-hint: \"[task]\"\n---\n\n";

const RULE: &str = "---\n\
    description: How to use the tools of the Gatehouse gateway\n\
    alwaysApply: true\n\
    ---\n\n";

impl Arguments {
    fn files(&self) -> Vec<TargetFile> {
        if self.skill { vec![Self::skill_file()] } else { self.target.files() }
    }

    fn skill_file() -> TargetFile {
        let (name, head) = (".claude/skills/gatehouse/SKILL.md", section::SKILL_HEAD);
        TargetFile { name, head, shared: false, body: |facts| facts.skill() }
    }
}

impl InitTarget {
    fn files(self) -> Vec<TargetFile> {
        let section = |name, head, shared| TargetFile { name, head, shared, body: |facts| facts.section() };
        match self {
            Self::Claude => vec![
                section(".claude/CLAUDE.md", "", true),
                TargetFile {
                    name: ".claude/commands/gateway-init.md",
                    head: COMMAND,
                    shared: false,
                    body: |facts| facts.command(),
                },
            ],
            Self::AgentsMd => vec![section("AGENTS.md", "", true)],
            Self::Cursor => vec![section(".cursor/rules/gatehouse.mdc", RULE, false)],
        }
    }
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let folder = &arguments.folder;
    let root = folder.canonicalize().ok().filter(|root| root.is_dir());
    let missing = || format!("--folder {}: no such directory", folder.display());
    let root = root.ok_or_else(missing).map_err(CommandError::usage)?;
    let changes = if arguments.undo {
        plan_removal(&root)?
    } else {
        plan_sections(&arguments, &root, global, env).await?
    };
    let changes: Vec<FileChange> = changes.into_iter().filter(FileChange::has_effect).collect();
    if changes.is_empty() {
        out::line(if arguments.undo { "nothing to remove" } else { "everything is up to date" });
        return Ok(());
    }
    for change in &changes {
        change.check()?;
        out::line(change.diff().trim_end());
    }
    if arguments.dry_run
        || !(arguments.yes || confirm_on_terminal("Write this? [y/N] ".into(), NO_TERMINAL).await?)
    {
        out::note("nothing was written");
        return Ok(());
    }
    let mut done: Vec<&str> = Vec::new();
    for change in &changes {
        change.apply().map_err(|reason| match done.as_slice() {
            [] => CommandError::from(reason),
            done => CommandError::failed(format!("{reason} ({} is already written)", done.join(", "))),
        })?;
        done.push(change.file.name);
    }
    out::note(format!("{} {}", if arguments.undo { "removed from" } else { "written:" }, done.join(", ")));
    Ok(())
}

async fn plan_sections(
    arguments: &Arguments,
    root: &Path,
    global: &GlobalArgs,
    env: &Env,
) -> CommandResult<Vec<FileChange>> {
    let composition = global.compose(env)?;
    let compiled = composition.config.select(arguments.preset.as_deref(), env)?;
    let catalog = composition.catalog(&compiled).await?;
    let facts = SectionContext {
        catalog: &catalog,
        compiled: &compiled,
        server: arguments.server.clone(),
        prefixed: arguments.target == InitTarget::Claude,
    };
    let change = |written: TargetFile| {
        let file = ProjectFile::read(root, written.name)?;
        let wrong = |reason| CommandError::failed(format!("{}: {reason}; nothing was written", written.name));
        let body = (written.body)(&facts);
        let text = match &file.text {
            None => managed_section::new_file(written.head, &body, file.missing_folders),
            Some(text) if !written.shared && !managed_section::has_section(text).map_err(wrong)? => {
                return Err(wrong("exists and was not written by `gatehouse init`; move it first".into()));
            }
            Some(text) => managed_section::put_section(text, &body).map_err(wrong)?,
        };
        Ok(FileChange { file, after: PlannedContent::Text(text) })
    };
    arguments.files().into_iter().map(change).collect()
}

/// Plans the removal of everything that any use of this command wrote. In reverse order, so that directories are empty
/// when they are removed.
fn plan_removal(root: &Path) -> CommandResult<Vec<FileChange>> {
    let mut changes = Vec::new();
    let skill = Arguments::skill_file();
    let target_files = InitTarget::value_variants().iter().flat_map(|target| target.files()).chain([skill]);
    for written in target_files.collect::<Vec<_>>().into_iter().rev() {
        let file = ProjectFile::read(root, written.name)?;
        let Some(text) = &file.text else { continue };
        let after = managed_section::remove_section(text, written.head).map_err(|reason| {
            CommandError::failed(format!("{}: {reason}; nothing was written", written.name))
        })?;
        changes.extend(after.map(|after| FileChange { file, after }));
    }
    Ok(changes)
}
