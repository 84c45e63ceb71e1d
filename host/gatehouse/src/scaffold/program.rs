//! Runs the tools of a language. Dropping the future stops the tool and its child processes.

use std::{
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::PlainError;
use crate::out;

/// Returns the path of a local program if it exists, else its name for the search path.
pub(super) fn find(folder: &Path, local: &str, name: &str) -> PathBuf {
    let local = folder.join(local);
    if local.exists() { local } else { PathBuf::from(name) }
}

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

/// Runs a command. `install` is the instruction to show if the program is missing.
pub(super) async fn run(command: &mut Command, install: &str) -> Result<(), ProgramError> {
    start(command, install)?.wait().await.map(drop)
}

/// Runs a command and returns its standard output.
pub(super) async fn output(command: &mut Command, install: &str) -> Result<Vec<u8>, ProgramError> {
    start(command.stdout(Stdio::piped()), install)?.wait().await
}

/// Runs a command silently and returns its output. `None` if it fails.
pub(super) async fn query(command: &mut Command) -> Option<String> {
    let answer = command.stdout(Stdio::piped()).stderr(Stdio::null()).output().await.ok()?;
    answer.status.success().then(|| String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// A running program that leads its process group.
struct RunningProgram {
    name: String,
    child: Child,
}

fn start(command: &mut Command, install: &str) -> Result<RunningProgram, ProgramError> {
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let words: Vec<_> = command.as_std().get_args().map(|word| word.to_string_lossy()).collect();
    out::note(format!("$ {name} {}", words.join(" ")));
    match command.spawn() {
        Ok(child) => Ok(RunningProgram { name, child }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(ProgramError::NotInstalled(format!("'{name}' is not installed.\n{install}")))
        }
        Err(error) => Err(ProgramError::Failed(format!("'{name}' cannot be started: {error}"))),
    }
}

impl RunningProgram {
    async fn wait(mut self) -> Result<Vec<u8>, ProgramError> {
        let failed =
            |what: &str, error| ProgramError::Failed(format!("cannot {what} '{}': {error}", self.name));
        let mut printed = Vec::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            let read = tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut printed).await;
            read.map_err(|error: io::Error| failed("read the output of", error))?;
        }
        let status = self.child.wait().await.map_err(|error| failed("wait for", error))?;
        if status.success() {
            return Ok(printed);
        }
        Err(ProgramError::Failed(format!("'{}' failed ({status}).", self.name)))
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // A process that was waited for has no id.
        let group = self.child.id().and_then(|id| Pid::from_raw(id as i32));
        if let Some(group) = group {
            // The group may have ended already, which is fine.
            let _gone = kill_process_group(group, Signal::TERM);
        }
    }
}
