//! A server under measurement, and the smallest MCP client that can drive it: blocking pipes, one thread,
//! no parsing while the clock runs.
//!
//! A server that stops answering is ended by a watchdog, and the calls it owes count as lost.

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

use reading::{id, is_echo};

/// A server that is silent for so long, though an answer is due, is given up.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

const INITIALIZE: &str =
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;

/// A running server after its handshake.
pub(crate) struct BenchServer {
    watched: Arc<WatchdogState>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    request: Vec<u8>,
    reply: Vec<u8>,
    next: u64,
    log: PathBuf,
    /// From before the process was started until its tool list was complete.
    pub(crate) started_in: Duration,
    /// Names of its tools, as listed.
    pub(crate) tools: Vec<String>,
}

/// What the watchdog looks at.
struct WatchdogState {
    child: Mutex<Child>,
    waiting: AtomicBool,
    replies: AtomicU64,
    over: AtomicBool,
}

/// What came of many calls.
#[derive(Default)]
pub(crate) struct CallTally {
    pub(crate) time: Duration,
    pub(crate) answered: u64,
    /// Never answered.
    pub(crate) lost: u64,
    /// Answered with something else than was asked for.
    pub(crate) wrong: u64,
}

impl BenchServer {
    /// Starts a server and lists its tools. Its standard error goes to `log`.
    pub(crate) fn start(mut command: Command, log: PathBuf) -> Result<Self> {
        let errors = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        let begin = Instant::now();
        let mut child =
            command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let input = child.stdin.take();
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().context("no pipe to read from")?);
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

    /// One call of `echo` with a text of its own; the time until its reply was read.
    pub(crate) fn echo(&mut self, tool: &str) -> Result<Duration> {
        let id = self.prepare_echo(tool);
        let time = self.exchange(id)?;
        if !is_echo(&self.reply, id) {
            bail!("'{tool}' answered {}", self.shown());
        }
        Ok(time)
    }

    /// One call of `big`; the time until its reply was read.
    pub(crate) fn big(&mut self, tool: &str, bytes: usize) -> Result<Duration> {
        let id =
            self.prepare("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"bytes":{bytes}}}}}"#));
        let time = self.exchange(id)?;
        if self.reply.len() < bytes {
            bail!("'{tool}' answered {}", self.shown());
        }
        Ok(time)
    }

    /// One call of any tool; the time until its reply was read, and the reply.
    pub(crate) fn timed(&mut self, tool: &str, arguments: &str) -> Result<(Duration, &str)> {
        let id = self.prepare("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#));
        let time = self.exchange(id)?;
        Ok((time, std::str::from_utf8(&self.reply)?))
    }

    /// Many calls of `echo`, over the tools in turn, with up to `flight` of them unanswered at any time.
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

    /// All pages of the tool list.
    fn list(&mut self) -> Result<()> {
        let mut parameters = "{}".to_owned();
        loop {
            let result = self.ask("tools/list", &parameters)?;
            let page = result["tools"].as_array().context("the reply to tools/list holds no tools")?;
            self.tools.extend(page.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
            match &result["nextCursor"] {
                Value::String(cursor) => parameters = serde_json::json!({ "cursor": cursor }).to_string(),
                _ => return Ok(()),
            }
        }
    }

    /// A request whose result is wanted as data.
    pub(crate) fn ask(&mut self, method: &str, parameters: &str) -> Result<Value> {
        let id = self.prepare(method, parameters);
        self.exchange(id)?;
        let mut reply: Value = serde_json::from_slice(&self.reply)?;
        if !reply["result"].is_object() {
            bail!("{method} was answered {}", self.shown());
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

    /// Sends what is prepared and reads until its reply.
    fn exchange(&mut self, id: u64) -> Result<Duration> {
        let begin = Instant::now();
        self.send()?;
        loop {
            match self.read()? {
                Some(other) if other == id => return Ok(begin.elapsed()),
                Some(_) => {}
                None => bail!("the server gave no answer; it said: {}", self.complaint()),
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
            _ => bail!("the server is gone; it said: {}", self.complaint()),
        }
    }

    /// Reads the next reply and returns its id; none when the server has closed.
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

    /// The start of the last reply.
    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.reply[..self.reply.len().min(300)]).into_owned()
    }

    /// The last lines of the server's standard error.
    fn complaint(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(8)..].join("\n")
    }
}

impl Drop for BenchServer {
    /// Closes the server's input, as clients do, and ends it if that is not enough.
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

/// Ends a server that owes an answer and stays silent; the client then reads the end of its output.
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
