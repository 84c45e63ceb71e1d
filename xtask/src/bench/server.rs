//! A server under measurement and a minimal MCP client for it: blocking pipes, one thread, no parsing during a
//! measurement.
//!
//! A watchdog ends a server that stops answering; its open calls count as lost.

mod reading;

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::BenchSide;
use super::stats::micros;
use reading::{id, is_echo};

/// Longest silence of a server that owes a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

const INITIALIZE: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;

pub(crate) struct BenchServer {
    watched: Arc<WatchdogState>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    request: Vec<u8>,
    reply: Vec<u8>,
    next: u64,
    log: PathBuf,
    /// Time from before the process started until the tool list was complete.
    pub(crate) started_in: Duration,
    pub(crate) tools: Vec<String>,
}

struct WatchdogState {
    child: Mutex<Child>,
    waiting: AtomicBool,
    replies: AtomicU64,
    over: AtomicBool,
}

#[derive(Default)]
pub(crate) struct CallTally {
    pub(crate) time: Duration,
    pub(crate) answered: u64,
    pub(crate) lost: u64,
    pub(crate) wrong: u64,
}

impl CallTally {
    pub(crate) fn rate(&self) -> f64 {
        self.answered as f64 / self.time.as_secs_f64()
    }

    /// Returns the number of calls that failed, if any did, of all `calls`.
    pub(crate) fn failures(&self, side: BenchSide, calls: &str) -> Option<String> {
        let side_name = match side {
            BenchSide::Gateway => "the gateway",
            BenchSide::Floor => "the native server",
        };
        let (lost, wrong) = (self.lost, self.wrong);
        (lost + wrong > 0).then(|| format!("{side_name} lost {lost} of {calls}, {wrong} were wrong"))
    }
}

impl BenchServer {
    /// Starts a server and lists its tools. Its stderr goes to `log`.
    pub(crate) fn start(mut command: Command, log: PathBuf) -> Result<Self> {
        let errors = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let begin = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let input = child.stdin.take();
        let output =
            BufReader::with_capacity(1 << 16, child.stdout.take().context("the server has no stdout")?);
        let watched = Arc::new(WatchdogState {
            child: Mutex::new(child),
            waiting: AtomicBool::new(false),
            replies: AtomicU64::new(0),
            over: AtomicBool::new(false),
        });
        watch(Arc::clone(&watched));
        let (request, reply, tools) = (Vec::new(), Vec::new(), Vec::new());
        let mut server =
            Self { watched, input, output, request, reply, next: 0, log, started_in: Duration::ZERO, tools };
        server.ask("initialize", INITIALIZE)?;
        server.write(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        server.list()?;
        server.started_in = begin.elapsed();
        Ok(server)
    }

    pub(crate) fn process(&self) -> u32 {
        self.watched.child.lock().unwrap_or_else(PoisonError::into_inner).id()
    }

    /// Calls `echo` with a distinct text and returns the time until the reply was read.
    pub(crate) fn echo(&mut self, tool: &str) -> Result<Duration> {
        let id = self.prepare_echo(tool);
        let time = self.exchange(id)?;
        if !is_echo(&self.reply, id) {
            bail!("'{tool}' answered {}", self.shown());
        }
        Ok(time)
    }

    pub(crate) fn big(&mut self, tool: &str, bytes: usize) -> Result<Duration> {
        let id =
            self.prepare("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"bytes":{bytes}}}}}"#));
        let time = self.exchange(id)?;
        if self.reply.len() < bytes {
            bail!("'{tool}' answered {}", self.shown());
        }
        Ok(time)
    }

    /// Calls a tool and returns the time until the reply was read, and the reply.
    pub(crate) fn timed(&mut self, tool: &str, arguments: &str) -> Result<(Duration, &str)> {
        let id = self.prepare("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let time = self.exchange(id)?;
        Ok((time, std::str::from_utf8(&self.reply)?))
    }

    /// Calls the tool `echo` of a server through the gate `proxy`.
    pub(crate) fn call_tool(&mut self, server: &str) -> Result<Duration> {
        let arguments =
            format!(r#"{{"server":"{server}","tool":"echo","arguments":{{"text":"there and back"}}}}"#);
        let (time, reply) = self.timed("call_tool", &arguments)?;
        if !reply.contains("there and back") || reply.contains("\"isError\":true") {
            bail!("call_tool answered {reply}");
        }
        Ok(time)
    }

    /// Calls a tool and returns the time in milliseconds, including some 10 µs to parse the reply, and its result.
    pub(crate) fn timed_result(&mut self, tool: &str, arguments: &str) -> Result<(f64, Value)> {
        let begin = Instant::now();
        let result = self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))?;
        Ok((micros(begin.elapsed()) / 1e3, result))
    }

    /// Calls `echo` many times, with the tools in turn and up to `flight` open calls.
    pub(crate) fn echoes(&mut self, tools: &[String], calls: u64, flight: usize) -> Result<CallTally> {
        let mut tally = CallTally::default();
        let mut open = BTreeSet::new();
        let mut sent = 0;
        let begin = Instant::now();
        while tally.answered < calls {
            while sent < calls && open.len() < flight {
                open.insert(self.prepare_echo(&tools[sent as usize % tools.len()]));
                sent += 1;
                self.send()?;
            }
            let Some(id) = self.read()? else { break };
            if open.remove(&id) {
                tally.answered += 1;
                tally.wrong += u64::from(!is_echo(&self.reply, id));
            }
        }
        tally.time = begin.elapsed();
        tally.lost = calls - tally.answered;
        Ok(tally)
    }

    fn list(&mut self) -> Result<()> {
        let mut parameters = "{}".to_owned();
        loop {
            let result = self.ask("tools/list", &parameters)?;
            let page = result["tools"].as_array().context("the reply to tools/list has no tools")?;
            self.tools.extend(page.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
            match &result["nextCursor"] {
                Value::String(cursor) => parameters = serde_json::json!({ "cursor": cursor }).to_string(),
                _ => return Ok(()),
            }
        }
    }

    pub(crate) fn ask(&mut self, method: &str, parameters: &str) -> Result<Value> {
        let id = self.prepare(method, parameters);
        self.exchange(id)?;
        let mut reply: Value = serde_json::from_slice(&self.reply)?;
        if !reply["result"].is_object() {
            bail!("unexpected reply to {method}: {}", self.shown());
        }
        Ok(reply["result"].take())
    }

    fn prepare_echo(&mut self, tool: &str) -> u64 {
        let id = self.next;
        self.prepare("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"text":"echo {id} back"}}}}"#))
    }

    fn prepare(&mut self, method: &str, parameters: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        let line =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{parameters}}}\n");
        self.request = line.into_bytes();
        id
    }

    fn exchange(&mut self, id: u64) -> Result<Duration> {
        let begin = Instant::now();
        self.send()?;
        loop {
            match self.read()? {
                Some(other) if other == id => return Ok(begin.elapsed()),
                Some(_) => {}
                None => bail!("the server did not reply; its stderr: {}", self.complaint()),
            }
        }
    }

    fn send(&mut self) -> Result<()> {
        let line = std::mem::take(&mut self.request);
        self.write(&line)
    }

    fn write(&mut self, line: &[u8]) -> Result<()> {
        let sent = self.input.as_mut().map(|input| input.write_all(line));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => bail!("the server exited; its stderr: {}", self.complaint()),
        }
    }

    /// Reads the next reply and returns its id. `None` if the server closed its output.
    fn read(&mut self) -> Result<Option<u64>> {
        self.watched.waiting.store(true, Ordering::Relaxed);
        loop {
            self.reply.clear();
            if self.output.read_until(b'\n', &mut self.reply)? == 0 {
                return Ok(None);
            }
            if let Some(id) = id(&self.reply) {
                self.watched.waiting.store(false, Ordering::Relaxed);
                self.watched.replies.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(id));
            }
        }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.reply[..self.reply.len().min(300)]).into_owned()
    }

    fn complaint(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for BenchServer {
    /// Closes the server's input, as clients do, and kills the server after 2 s.
    fn drop(&mut self) {
        self.watched.over.store(true, Ordering::Relaxed);
        self.input = None;
        let mut child = self.watched.child.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..400 {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Ends a server that owes a reply and stays silent. The client then reads the end of the output.
fn watch(watched: Arc<WatchdogState>) {
    thread::spawn(move || {
        let mut last = (0, Instant::now());
        while !watched.over.load(Ordering::Relaxed) {
            let replies = watched.replies.load(Ordering::Relaxed);
            if replies != last.0 || !watched.waiting.load(Ordering::Relaxed) {
                last = (replies, Instant::now());
            } else if last.1.elapsed() > REPLY_TIMEOUT {
                let _ = watched.child.lock().unwrap_or_else(PoisonError::into_inner).kill();
                return;
            }
            thread::sleep(Duration::from_millis(250));
        }
    });
}
