//! Runs the tools of a language. Dropping the future stops the tool and its child processes.

use std::{
    io::{self, ErrorKind},
    path::Path,
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::PlainError;
use crate::out;

/// Creates a command in the project directory, without input and with output on standard error.
pub(super) fn command(program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).stdout(io::stderr()).kill_on_drop(true);
    command.process_group(0);
    command
}

/// A language tool that did not succeed.
#[derive(Debug)]
pub(super) enum ProgramError {
    /// The message has the instruction to install the tool.
    NotInstalled(String),
    Failed(String),
}

impl From<ProgramError> for PlainError {
    fn from((ProgramError::NotInstalled(message) | ProgramError::Failed(message)): ProgramError) -> Self {
        message.into()
    }
}

/// Runs a command silently and returns its output. `None` if it fails.
pub(super) async fn query(command: &mut Command) -> Option<String> {
    let answer = command.stdout(Stdio::piped()).stderr(Stdio::null()).output().await.ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// Runs a command and returns its standard output if that is piped. `install` is the instruction to show if the program
/// is missing.
pub(super) async fn run(command: &mut Command, install: &str) -> Result<Vec<u8>, ProgramError> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let words: Vec<_> = command.as_std().get_args().map(|word| word.to_string_lossy()).collect();
    out::note(format!("$ {name} {}", words.join(" ")));
    let failed = |action: &str, error| ProgramError::Failed(format!("cannot {action} '{name}': {error}"));
    let mut leader = GroupLeader(command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => ProgramError::NotInstalled(format!("'{name}' is not installed.\n{install}")),
        _ => ProgramError::Failed(format!("'{name}' cannot be started: {error}")),
    })?);
    let mut printed = Vec::new();
    if let Some(mut stdout) = leader.0.stdout.take() {
        let read = tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut printed).await;
        read.map_err(|error: io::Error| failed("read the output of", error))?;
    }
    let status = leader.0.wait().await.map_err(|error| failed("wait for", error))?;
    if status.success() {
        return Ok(printed);
    }
    Err(ProgramError::Failed(format!("'{name}' failed ({status}).")))
}

/// A running program that leads its process group.
struct GroupLeader(Child);

impl Drop for GroupLeader {
    fn drop(&mut self) {
        // A process that was waited for has no id.
        if let Some(group) = self.0.id().and_then(|id| Pid::from_raw(id as i32)) {
            // The group may have ended already, which is fine.
            let _gone = kill_process_group(group, Signal::TERM);
        }
    }
}
