//! `cargo xtask bench --growth`: the same calls with more gates, servers, tools and sessions, each size in turn.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};

use super::http_server::HttpEra;
use super::p1_latency::BusyCores;
use super::server::BenchServer;
use super::setup::{Bench, Gateway};
use super::stats::{cpu_seconds, median, median_of_calls, memory};

const SIZES: [usize; 3] = [1, 50, 200];
const SESSIONS: [usize; 3] = [1, 100, 1_000];

/// Servers and tools of each.
const TOOLS: [(usize, usize); 3] = [(1, 100), (5, 200), (50, 200)];

const ROUNDS: usize = 10;
const CALLS: usize = 200;
const FLIGHT: usize = 64;

/// Rows of values, one column for each size.
#[derive(Default)]
struct GrowthTable(Vec<(&'static str, Vec<f64>)>);

impl GrowthTable {
    fn add(&mut self, row: &'static str, value: f64) {
        match self.0.iter_mut().find(|(name, _)| *name == row) {
            Some((_, values)) => values.push(value),
            None => self.0.push((row, vec![value])),
        }
    }

    fn print(&self, sizes: &[usize], counted: &str) {
        let heads = sizes.iter().fold(String::new(), |mut heads, size| {
            let _ = write!(heads, " {size} |");
            heads
        });
        println!("\n| {counted} |{heads}\n|---|{}", "---:|".repeat(sizes.len()));
        for (row, values) in &self.0 {
            let values: Vec<_> = values.iter().map(|value| format!("{value:.0}")).collect();
            println!("| {row} | {} |", values.join(" | "));
        }
    }
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let mut gates = GrowthTable::default();
    for size in SIZES {
        with_gates(bench, size, &mut gates)?;
    }
    gates.print(&SIZES, "gates");
    let mut servers = GrowthTable::default();
    for size in SIZES {
        with_servers(bench, size, &mut servers)?;
    }
    servers.print(&SIZES, "stdio servers, all running");
    let mut tools = GrowthTable::default();
    for (count, of_each) in TOOLS {
        with_tools(bench, count, of_each, &mut tools)?;
    }
    tools.print(&TOOLS.map(|(count, of_each)| count * of_each), "tools behind the proxy");
    let mut sessions = GrowthTable::default();
    for size in SESSIONS {
        with_sessions(bench, size, &mut sessions)?;
    }
    sessions.print(&SESSIONS, "sessions over HTTP");
    Ok(())
}

fn with_gates(bench: &Bench, size: usize, table: &mut GrowthTable) -> Result<()> {
    let gateway = bench.gateway(size)?;
    let mut server = bench.start(&gateway)?;
    let tool = &gateway.echo[size / 2];
    let cpu = cpu_seconds(server.process())?;
    table.add("P1: echo, p50, µs", p50(|| server.echo(tool))?);
    let spent = cpu_seconds(server.process())? - cpu;
    table.add("P1: processor time of it, µs", spent * 1e6 / (ROUNDS * CALLS) as f64);
    table.add("P2: echoes of all gates in turn, 64 in flight, calls/s", rate(&mut server, &gateway.echo)?);
    table.add("resident, MB", memory(server.process())?.0);
    drop(server);
    let http = bench.serve(&gateway, &[])?;
    let mut client = http.connect(HttpEra::Session, None)?;
    table.add("P7: echo over HTTP, p50, µs", p50(|| client.echo(tool))?);
    Ok(())
}

fn with_servers(bench: &Bench, size: usize, table: &mut GrowthTable) -> Result<()> {
    let mut server = bench.start(&bench.before_floors(size, 0)?)?;
    for number in 1..=size {
        server.echo(&format!("floor{number}__echo"))?;
    }
    let tool = format!("floor{}__echo", size / 2 + 1);
    table.add("P8: echo, shown directly, p50, µs", p50(|| server.echo(&tool))?);
    let name = format!("floor{}", size / 2 + 1);
    table.add("P8: echo through `call_tool`, p50, µs", p50(|| server.call_tool(&name))?);
    table.add("resident, the host alone, MB", memory(server.process())?.0);
    Ok(())
}

fn with_tools(bench: &Bench, count: usize, of_each: usize, table: &mut GrowthTable) -> Result<()> {
    let mut server = bench.start(&bench.before_floors(count, of_each)?)?;
    for number in 1..=count {
        server.call_tool(&format!("floor{number}"))?;
    }
    let expected_tool = format!("tool{of_each}");
    let search = || {
        let arguments = format!(r#"{{"query":"count the things of kind {of_each}"}}"#);
        let (time, reply) = server.timed("search_tools", &arguments)?;
        ensure!(reply.contains(&expected_tool), "search_tools answered {reply}");
        Ok(time)
    };
    table.add("`search_tools`, p50, µs", p50(search)?);
    table.add("`call_tool`, p50, µs", p50(|| server.call_tool("floor1"))?);
    table.add("resident, the host alone, MB", memory(server.process())?.0);
    Ok(())
}

fn with_sessions(bench: &Bench, size: usize, table: &mut GrowthTable) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let http = bench.serve(&gateway, &[])?;
    let tool = &gateway.echo[0];
    let mut client = http.connect(HttpEra::Session, None)?;
    let sessions = client.sessions(size)?;
    let mut next = sessions.iter().cycle();
    let call = || {
        client.switch_session(next.next().context("no session")?);
        client.echo(tool)
    };
    table.add("echo in each session in turn, p50, µs", p50(call)?);
    table.add("resident, MB", memory(http.process())?.0);
    Ok(())
}

/// Returns the median over rounds of the median time in µs. All cores but one are busy, or it would mostly be the time
/// that a core needs to wake.
fn p50(mut call: impl FnMut() -> Result<std::time::Duration>) -> Result<f64> {
    let _spinning = BusyCores::on_all_cores_but_one()?;
    let rounds = (0..ROUNDS).map(|_| median_of_calls(CALLS, &mut call));
    Ok(median(&rounds.collect::<Result<Vec<_>>>()?))
}

fn rate(server: &mut BenchServer, tools: &[String]) -> Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let tally = server.echoes(tools, 2_000, FLIGHT)?;
        ensure!(tally.lost + tally.wrong == 0, "{} calls were lost, {} wrong", tally.lost, tally.wrong);
        rates.push(tally.rate());
    }
    Ok(median(&rates))
}

impl Bench {
    /// Makes the files of a gateway before `count` native servers with `tools` more tools each, shown directly if there
    /// are none, and through the gate `proxy`.
    fn before_floors(&self, count: usize, tools: usize) -> Result<Gateway> {
        let floor = serde_json::to_string(&self.floor)?;
        let direct_count = if tools == 0 { count } else { 0 };
        let direct_servers: Vec<_> = (1..=direct_count).map(|number| format!("\"floor{number}\"")).collect();
        let mut settings = format!(
            "[gates.proxy]\ngrants = [\"servers\"]\n\n[presets.bench]\ngates.proxy = {{}}\nservers = [{}]\n",
            direct_servers.join(", ")
        );
        for number in 1..=count {
            let server = format!("[servers.floor{number}]\ncommand = {floor}");
            write!(settings, "\n{server}\nargs = [\"--tools\", \"{tools}\"]\n")?;
        }
        self.files(format!("before-{count}-of-{tools}"), &["proxy"], &settings)
    }
}
