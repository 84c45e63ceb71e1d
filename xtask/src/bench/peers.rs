//! `cargo xtask bench --peers`: the same calls through this gateway, through others, and to the server itself, in one
//! run. The others are installed at pinned versions.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::http_server::{HttpBenchServer, HttpClient, HttpEra, rate};
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::{call_times, median, memory};
use crate::process;
use crate::servers::free_port;
use crate::tools;

const ROUNDS: usize = 20;
const CALLS: usize = 200;
const CLIENTS: usize = 64;
const CALLS_OF_EACH: usize = 10;

/// Echo tool of FastMCP, for a comparison with a gate.
const FASTMCP_ECHO: &str = r#"from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool
def echo(text: str) -> str:
    return text


server.run(transport="stdio", show_banner=False)
"#;

/// Proxy of FastMCP before the native server.
const FASTMCP_PROXY: &str = r#"import sys

from fastmcp.server import create_proxy

server = {"command": sys.argv[1], "args": []}
proxy = create_proxy({"mcpServers": {"floor": server}})
proxy.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", log_level="error", show_banner=False)
"#;

/// Medians of one server.
#[derive(Default)]
struct PeerSamples {
    p50: Vec<f64>,
    cpu: Vec<f64>,
    rate: Vec<f64>,
    resident: f64,
}

/// A server under comparison over HTTP, with its clients.
struct HttpPeer {
    name: &'static str,
    tool: &'static str,
    server: HttpBenchServer,
    alone: HttpClient,
    many: Vec<HttpClient>,
    samples: PeerSamples,
}

impl HttpPeer {
    fn connect(
        name: &'static str,
        tool: &'static str,
        server: HttpBenchServer,
        era: HttpEra,
    ) -> Result<Self> {
        let connect = || server.connect(era, None).with_context(|| name);
        let mut alone = connect()?;
        // The first call starts the server behind a proxy.
        alone.echo(tool).with_context(|| name)?;
        let many = (0..CLIENTS).map(|_| connect()).collect::<Result<_>>()?;
        Ok(Self { name, tool, server, alone, many, samples: PeerSamples::default() })
    }

    fn round(&mut self) -> Result<()> {
        let (times, cpu) = call_times(self.server.process(), CALLS, || self.alone.echo(self.tool))?;
        self.samples.p50.push(median(&times));
        self.samples.cpu.push(cpu);
        self.samples.rate.push(rate(&mut self.many, self.tool, CALLS_OF_EACH)?);
        self.samples.resident = memory(self.server.process())?.0;
        Ok(())
    }
}

/// Programs of the other gateways.
struct PeerPrograms {
    mcp_proxy: PathBuf,
    node: PathBuf,
    node_proxy: PathBuf,
    python: PathBuf,
}

impl PeerPrograms {
    fn install() -> Result<Self> {
        Ok(Self {
            mcp_proxy: tools::MCP_PROXY.programs()?.join("mcp-proxy"),
            node: tools::NODE_CLIENTS.node()?,
            node_proxy: tools::NODE_MCP_PROXY.programs()?.join("mcp-proxy"),
            python: tools::FASTMCP.programs()?.join("python"),
        })
    }
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let programs = PeerPrograms::install()?;
    proxied_over_http(bench, &programs)?;
    echo_over_stdio(bench, &programs)
}

/// A tool of a stdio server, called over HTTP in sessions.
fn proxied_over_http(bench: &Bench, programs: &PeerPrograms) -> Result<()> {
    let gateway = bench.before_floor()?;
    let floor = &bench.floor;
    let at = |port: u16| format!("127.0.0.1:{port}");
    let log = |name: &str| bench.folder.join(format!("{name}.log"));

    let port = free_port()?;
    let config = bench.folder.join("mcp-proxy.toml");
    let text = format!(
        "[proxy]\nname = \"bench\"\n\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\n[[backends]]\n\
         name = \"floor\"\ntransport = \"stdio\"\ncommand = {}\n",
        serde_json::to_string(floor)?
    );
    fs::write(&config, text)?;
    let mut mcp_proxy = process::command(&programs.mcp_proxy);
    mcp_proxy.arg("--config").arg(&config);
    let mcp_proxy = HttpBenchServer::start_at(mcp_proxy, &at(port), "/", &log("mcp-proxy"))?;

    let port = free_port()?;
    let mut node_proxy = process::command(&programs.node);
    node_proxy.arg(fs::canonicalize(&programs.node_proxy)?).args([
        "--host",
        "127.0.0.1",
        "--server",
        "stream",
    ]);
    node_proxy.args(["--port", &port.to_string(), "--"]).arg(floor);
    let node_proxy = HttpBenchServer::start_at(node_proxy, &at(port), "/mcp", &log("node-mcp-proxy"))?;

    let port = free_port()?;
    let mut fastmcp = python(programs, bench, "proxy.py", FASTMCP_PROXY)?;
    fastmcp.arg(floor).arg(port.to_string());
    let fastmcp = HttpBenchServer::start_at(fastmcp, &at(port), "/mcp", &log("fastmcp"))?;

    let mut peers = [
        HttpPeer::connect("the server itself, over HTTP", "echo", bench.serve_floor()?, HttpEra::Session)?,
        HttpPeer::connect("Gatehouse", "floor__echo", bench.serve(&gateway, &[])?, HttpEra::Session)?,
        HttpPeer::connect(
            "Gatehouse, stateless",
            "floor__echo",
            bench.serve(&gateway, &[])?,
            HttpEra::Stateless,
        )?,
        HttpPeer::connect(tools::MCP_PROXY.pin(), "floor/echo", mcp_proxy, HttpEra::Session)?,
        HttpPeer::connect(tools::NODE_MCP_PROXY.pin(), "echo", node_proxy, HttpEra::Session)?,
        HttpPeer::connect(tools::FASTMCP.pin(), "echo", fastmcp, HttpEra::Session)?,
    ];
    for _ in 0..bench.rounds(ROUNDS) {
        for peer in &mut peers {
            peer.round().with_context(|| peer.name)?;
        }
    }
    println!("\nA tool of a stdio server, called over HTTP:\n");
    table(peers.iter().map(|peer| (peer.name, &peer.samples)));
    Ok(())
}

/// A tool in a gate, and one in the process of a server.
fn echo_over_stdio(bench: &Bench, programs: &PeerPrograms) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let fastmcp = python(programs, bench, "echo.py", FASTMCP_ECHO)?;
    let mut servers = [
        ("a native server", "echo", bench.start_floor()?, PeerSamples::default()),
        ("Gatehouse", gateway.echo[0].as_str(), bench.start(&gateway)?, PeerSamples::default()),
        (
            tools::FASTMCP.pin(),
            "echo",
            BenchServer::start(fastmcp, bench.folder.join("fastmcp-stdio.log"))?,
            PeerSamples::default(),
        ),
    ];
    for _ in 0..bench.rounds(ROUNDS) {
        for (name, tool, server, samples) in &mut servers {
            let (times, cpu) =
                call_times(server.process(), CALLS, || server.echo(tool).with_context(|| *name))?;
            samples.cpu.push(cpu);
            samples.p50.push(median(&times));
            samples.resident = memory(server.process())?.0;
        }
    }
    println!("\nAn echo over stdio, one call at a time:\n");
    table(servers.iter().map(|(name, _, _, samples)| (*name, samples)));
    Ok(())
}

fn table<'a>(rows: impl Iterator<Item = (&'a str, &'a PeerSamples)>) {
    println!(
        "| | p50 µs | CPU a call µs | calls a second, {CLIENTS} clients | resident MB |\n|---|---|---|---|---|"
    );
    for (name, samples) in rows {
        let rate = if samples.rate.is_empty() { "".into() } else { format!("{:.0}", median(&samples.rate)) };
        let (p50, cpu) = (median(&samples.p50), median(&samples.cpu));
        println!("| {name} | {p50:.0} | {cpu:.0} | {rate} | {:.0} |", samples.resident);
    }
}

fn python(programs: &PeerPrograms, bench: &Bench, name: &str, text: &str) -> Result<Command> {
    let path = bench.folder.join(name);
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let mut command = process::command(&programs.python);
    command.arg(path);
    Ok(command)
}
