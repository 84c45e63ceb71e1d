//! Servers are untrusted like gates: a failure ends only the server's own calls, no call is sent twice, and no process
//! remains.

mod apart;
mod as_they_are;
mod asking;
mod at_the_shell;
mod attacks;
mod changes;
mod content;
mod effects;
mod ended_sessions;
mod ends;
mod eras;
mod failures;
mod features;
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

pub(crate) fn vices() -> &'static str {
    env!("CARGO_BIN_EXE_server-of-vices")
}

/// Returns the block of a server that runs as a child process, with more lines.
pub(crate) fn child(name: &str, options: &[&str], more: &str) -> String {
    let arguments: Vec<_> = ["stdio"].iter().chain(options).collect();
    format!("[servers.{name}]\ncommand = {:?}\nargs = {arguments:?}\n{more}\n", vices())
}

pub(crate) fn showing(names: &[&str], blocks: &str) -> Place {
    Place::with(&format!("{blocks}[presets.all]\nservers = {names:?}\n"), &[])
}

pub(crate) struct Listening {
    child: Child,
    pub(crate) base: String,
}

impl Listening {
    pub(crate) fn start(transport: &str, options: &[&str]) -> Self {
        let mut command = Command::new(vices());
        let mut child =
            command.arg(transport).args(options).stdout(Stdio::piped()).spawn().expect("start the server");
        let mut base = String::new();
        BufReader::new(child.stdout.take().expect("output")).read_line(&mut base).expect("its address");
        Self { child, base: base.trim_end().to_owned() }
    }

    pub(crate) fn block(&self, name: &str, transport: &str) -> String {
        let path = if transport == "sse" { "sse" } else { "mcp" };
        format!("[servers.{name}]\nurl = \"{}/{path}\"\ntransport = \"{transport}\"\n", self.base)
    }
}

impl Listening {
    /// Sends a request outside of the protocol.
    pub(crate) fn control(&self, path: &str) {
        let status = ureq::get(format!("{}{path}", self.base)).call().expect("an answer").status();
        assert_eq!(status, 200, "{path}");
    }

    /// Kills the server, and starts it again at the same port.
    pub(crate) fn restart(&mut self, transport: &str, options: &[&str]) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let port = format!("port={}", self.base.rsplit(':').next().expect("a port"));
        *self = Self::start(transport, &[options, &[&port]].concat());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn recorded(place: &Place, line: &str) -> usize {
    let record = fs::read_to_string(place.path("record")).unwrap_or_default();
    record.lines().filter(|each| *each == line).count()
}

fn recording(options: &[&str]) -> Place {
    let place = showing(&["s"], "");
    let record = format!("record={}", place.path("record").display());
    let options: Vec<_> = options.iter().copied().chain([record.as_str()]).collect();
    let presets = format!("{}[presets.all]\nservers = [\"s\"]\n", child("s", &options, ""));
    place.write("presets.toml", presets);
    place
}
