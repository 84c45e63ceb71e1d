//! Servers behind a host are adversaries like gates: whatever one does ends its own calls, and nothing else; nothing is sent
//! to it twice, and nothing of it stays.

mod apart;
mod asking;
mod attacks;
mod changes;
mod content;
mod ends;
mod eras;
mod failures;
mod index;
mod lists;
mod redaction;
mod schemas;
mod starting;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use crate::support::Place;

/// The fixture server.
fn vices() -> &'static str {
    env!("CARGO_BIN_EXE_server-of-vices")
}

/// A server of this name as a child process; `more` are further lines of its block.
fn child(name: &str, options: &[&str], more: &str) -> String {
    let arguments: Vec<_> = ["stdio"].iter().chain(options).collect();
    format!("[servers.{name}]\ncommand = {:?}\nargs = {arguments:?}\n{more}\n", vices())
}

/// A preset that shows the tools of these servers, below their blocks.
fn showing(names: &[&str], blocks: &str) -> Place {
    Place::with(&format!("{blocks}[presets.all]\nservers = {names:?}\n"), &[])
}

/// A server that listens; it ends with the test.
struct Listening {
    child: Child,
    base: String,
}

impl Listening {
    fn start(transport: &str, options: &[&str]) -> Self {
        let mut command = Command::new(vices());
        let mut child =
            command.arg(transport).args(options).stdout(Stdio::piped()).spawn().expect("start the server");
        let mut base = String::new();
        BufReader::new(child.stdout.take().expect("output")).read_line(&mut base).expect("its address");
        Self { child, base: base.trim_end().to_owned() }
    }

    /// Declares it.
    fn block(&self, name: &str, transport: &str) -> String {
        let path = if transport == "sse" { "sse" } else { "mcp" };
        format!("[servers.{name}]\nurl = \"{}/{path}\"\ntransport = \"{transport}\"\n", self.base)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How often a line stands in what a server recorded.
fn recorded(place: &Place, line: &str) -> usize {
    let record = fs::read_to_string(place.path("record")).unwrap_or_default();
    record.lines().filter(|each| *each == line).count()
}

/// A server that records what it gets in the folder of its place.
fn recording(options: &[&str]) -> Place {
    let place = showing(&["s"], "");
    let record = format!("record={}", place.path("record").display());
    let options: Vec<_> = options.iter().copied().chain([record.as_str()]).collect();
    let presets = format!("{}[presets.all]\nservers = [\"s\"]\n", child("s", &options, ""));
    place.write("presets.toml", presets);
    place
}
