//! Cargo builds with one line of progress instead of a line for each crate.

use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// Time between two progress lines if the output is not a terminal.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Runs a cargo command and returns its JSON messages. Prints nothing if cargo has nothing to build.
///
/// `what` names the result for the user: "the gates".
pub(crate) fn build(what: &str, command: &mut Command) -> Result<Vec<Value>> {
    command.args(["--quiet", "--message-format=json-render-diagnostics"]);
    let line = process::render(command);
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start `{line}`"))?;
    let output = BufReader::new(child.stdout.take().context("cargo has no output")?);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lines = output.split(b'\n').map_while(Result::ok);
        for message in lines.filter_map(|line| serde_json::from_slice(&line).ok()) {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    let mut progress = BuildProgress { what, start: Instant::now(), built: 0, last_line: None };
    let mut messages = Vec::new();
    loop {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(message) => {
                progress.count(&message);
                messages.push(message);
            }
            Err(RecvTimeoutError::Timeout) => progress.show(),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait().with_context(|| format!("cannot wait for `{line}`"))?;
    progress.end();
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(messages)
}

struct BuildProgress<'a> {
    what: &'a str,
    start: Instant,
    /// Crates that cargo compiled, without those that were up to date.
    built: usize,
    last_line: Option<Instant>,
}

impl BuildProgress<'_> {
    fn count(&mut self, message: &Value) {
        if message["reason"] == "compiler-artifact" && message["fresh"] == false {
            self.built += 1;
            self.show();
        }
    }

    fn show(&mut self) {
        let due = match self.last_line {
            // Most builds of something end within three seconds or take minutes.
            None => self.start.elapsed() > Duration::from_secs(3),
            Some(last) if std::io::stderr().is_terminal() => last.elapsed() > Duration::from_millis(200),
            Some(last) => last.elapsed() > LOG_INTERVAL,
        };
        if due {
            self.last_line = Some(Instant::now());
            let line = format!("building {}: {} crates, {}", self.what, self.built, self.elapsed());
            match std::io::stderr().is_terminal() {
                true => eprint!("\r\x1b[K{line}"),
                false => eprintln!("{line}"),
            }
        }
    }

    fn end(&self) {
        if self.last_line.is_some() && std::io::stderr().is_terminal() {
            eprint!("\r\x1b[K");
        }
        if self.built > 0 {
            eprintln!("built {}: {} crates in {}", self.what, self.built, self.elapsed());
        }
    }

    fn elapsed(&self) -> String {
        let seconds = self.start.elapsed().as_secs();
        format!("{}:{:02}", seconds / 60, seconds % 60)
    }
}
