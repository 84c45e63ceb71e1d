//! A server over HTTP under measurement, and minimal MCP clients for it: one blocking connection each, no parsing of
//! JSON during a measurement.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// Longest silence of a server that owes a reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// How a client of the bench speaks MCP.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum HttpEra {
    /// A session of MCP 2025-11-25.
    Session,
    /// Requests of MCP 2026-07-28, each on its own.
    Stateless,
}

pub(crate) struct HttpBenchServer {
    child: Child,
    address: String,
    /// Path of its endpoint.
    path: String,
}

impl HttpBenchServer {
    /// Starts a server that prints its URL, which ends with `/mcp`, on stderr. The rest goes to `log`.
    pub(crate) fn start(mut command: Command, log: &Path) -> Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let mut errors = BufReader::new(child.stderr.take().context("the server has no stderr")?);
        let mut stderr = String::new();
        let address = loop {
            let begin = stderr.len();
            if errors.read_line(&mut stderr)? == 0 {
                let _ = child.wait();
                bail!("the server ended: {stderr}");
            }
            if let Some((_, rest)) = stderr[begin..].split_once("http://")
                && let Some((address, _)) = rest.split_once("/mcp")
            {
                break address.to_owned();
            }
        };
        let mut log = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        // Drain the pipe, or a server that logs much would stop.
        thread::spawn(move || std::io::copy(&mut errors, &mut log));
        Ok(Self { child, address, path: "/mcp".into() })
    }

    /// Starts a server at a known address and path, and waits until it accepts connections.
    pub(crate) fn start_at(mut command: Command, address: &str, path: &str, log: &Path) -> Result<Self> {
        let log_file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let errors = log_file.try_clone()?;
        let child = command.stdin(Stdio::null()).stdout(log_file).stderr(errors).spawn();
        let child = child.with_context(|| format!("cannot start {}", command.get_program().display()))?;
        let mut server = Self { child, address: address.to_owned(), path: path.to_owned() };
        let begin = Instant::now();
        while TcpStream::connect(address).is_err() {
            ensure!(server.child.try_wait()?.is_none(), "the server ended; see {}", log.display());
            ensure!(begin.elapsed() < REPLY_TIMEOUT, "the server does not listen; see {}", log.display());
            thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, self.path)
    }

    /// Connects a client, with the value of its `Authorization` header.
    pub(crate) fn connect(&self, era: HttpEra, credential: Option<&str>) -> Result<HttpClient> {
        HttpClient::connect(&self.address, &self.path, era, credential)
    }
}

impl Drop for HttpBenchServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) struct HttpClient {
    stream: BufReader<TcpStream>,
    /// Request line and headers, up to the length.
    head: String,
    era: HttpEra,
    next: u64,
    body: Vec<u8>,
}

impl HttpClient {
    fn connect(address: &str, path: &str, era: HttpEra, credential: Option<&str>) -> Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        let credential = credential.map_or_else(String::new, |value| format!("authorization: {value}\r\n"));
        let version = match era {
            HttpEra::Session => "2025-11-25",
            HttpEra::Stateless => "2026-07-28",
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {version}\r\n{credential}"
        );
        let mut client = Self { stream: BufReader::new(stream), head, era, next: 0, body: Vec::new() };
        if era == HttpEra::Session {
            client.begin_session()?;
        }
        Ok(client)
    }

    /// Opens sessions on this connection until there are `count`. Returns the request headers of each.
    pub(crate) fn sessions(&mut self, count: usize) -> Result<Vec<String>> {
        let mut heads = vec![self.head.clone()];
        while heads.len() < count {
            let end = self.head.find("mcp-session-id").context("the connection has no session")?;
            self.head.truncate(end);
            self.begin_session()?;
            heads.push(self.head.clone());
        }
        Ok(heads)
    }

    /// Sends the next requests with the headers of another session.
    pub(crate) fn switch_session(&mut self, head: &str) {
        self.head.replace_range(.., head);
    }

    fn begin_session(&mut self) -> Result<()> {
        let session = self.open_session()?;
        self.head += &format!("mcp-session-id: {session}\r\n");
        let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let (status, _) = self.exchange("", initialized)?;
        ensure!(status == 202, "the server answered the notification with {status}");
        Ok(())
    }

    fn open_session(&mut self) -> Result<String> {
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let (status, session) = self.exchange("", initialize)?;
        ensure!(status == 200, "the server answered initialize with {status}: {}", self.shown());
        session.context("the server opened no session")
    }

    /// Calls `echo` with a distinct text, and returns the time until the reply was read.
    pub(crate) fn echo(&mut self, tool: &str) -> Result<Duration> {
        self.next += 1;
        let text = format!("echo {} back", self.next);
        let (headers, meta) = match self.era {
            HttpEra::Session => (String::new(), ""),
            HttpEra::Stateless => (
                format!("mcp-method: tools/call\r\nmcp-name: {tool}\r\n"),
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#,
            ),
        };
        let id = self.next;
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{text}"}}{meta}}}}}"#
        );
        let begin = Instant::now();
        let (status, _) = self.exchange(&headers, &request)?;
        let time = begin.elapsed();
        let is_echo = contains(&self.body, text.as_bytes()) && !contains(&self.body, b"\"isError\":true");
        ensure!(status == 200 && is_echo, "'{tool}' answered {status}: {}", self.shown());
        Ok(time)
    }

    /// Sends a request, and reads the response into `body`. Returns its status and session id.
    fn exchange(&mut self, headers: &str, request: &str) -> Result<(u16, Option<String>)> {
        let message = format!("{}{headers}content-length: {}\r\n\r\n{request}", self.head, request.len());
        self.stream.get_mut().write_all(message.as_bytes())?;
        let mut line = String::new();
        let mut next_line = |stream: &mut BufReader<TcpStream>| -> Result<String> {
            line.clear();
            ensure!(stream.read_line(&mut line)? > 0, "the server closed the connection");
            Ok(line.trim_end().to_owned())
        };
        let status = next_line(&mut self.stream)?;
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).context("no status")?;
        let (mut length, mut is_chunked, mut session) = (0, false, None);
        loop {
            let header = next_line(&mut self.stream)?;
            let Some((name, value)) = header.split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
                "mcp-session-id" => session = Some(value.to_owned()),
                _ => {}
            }
        }
        self.body.clear();
        if !is_chunked {
            self.read_part(length)?;
            return Ok((status, session));
        }
        loop {
            let size = next_line(&mut self.stream)?;
            let size = usize::from_str_radix(&size, 16).with_context(|| format!("'{size}' is not a size"))?;
            self.read_part(size)?;
            next_line(&mut self.stream)?;
            if size == 0 {
                return Ok((status, session));
            }
        }
    }

    fn read_part(&mut self, size: usize) -> Result<()> {
        let before = self.body.len();
        self.body.resize(before + size, 0);
        Ok(self.stream.read_exact(&mut self.body[before..])?)
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.body[..self.body.len().min(300)]).into_owned()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Calls `echo` on every client at the same time, and returns the calls per second.
pub(crate) fn rate(clients: &mut [HttpClient], tool: &str, calls_each: usize) -> Result<f64> {
    let barrier = Barrier::new(clients.len() + 1);
    let calls = clients.len() * calls_each;
    let time = thread::scope(|scope| {
        let running: Vec<_> = clients
            .iter_mut()
            .map(|client| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    (0..calls_each).try_for_each(|_| client.echo(tool).map(drop))
                })
            })
            .collect();
        barrier.wait();
        let begin = Instant::now();
        for client in running {
            client.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok::<_, anyhow::Error>(begin.elapsed())
    })?;
    Ok(calls as f64 / time.as_secs_f64())
}
