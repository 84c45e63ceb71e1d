//! `cargo xtask bench`: compares the gateway with a native MCP server that has the same tools, in one run.
//!
//! The two sides alternate in brief rounds, so that other load affects both equally. Numbers are medians over rounds,
//! ratios medians of the rounds' ratios; on a shared machine only ratios are meaningful. `--noise` measures the
//! method's error: it runs the native server on both sides. `--quality` measures search results instead of time,
//! `--peers` other gateways beside this one, `--growth` larger sizes, and `--profile` the parts of a call.

mod added_time;
mod delay;
mod growth;
mod http_server;
mod peers;
mod profile;
mod publish;
mod quality;
mod reference;
mod report;
mod server;
mod setup;
mod stats;
mod tasks;
mod text_ports;
mod tokens;

mod p10_knowledge;
mod p13_context;
mod p14_weight;
mod p16_documents;
mod p17_tasks;
mod p19_team;
mod p1_latency;
mod p20_stores;
mod p2_throughput;
mod p3_start;
mod p4_memory;
mod p5_reload;
mod p6_large;
mod p7_http;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::UsageError;
use crate::gates::{self, GateSelection};
use crate::process;
use crate::snapshot;
use crate::workspace::Workspace;
use report::BenchReport;
use setup::Bench;

struct Measurement {
    id: &'static str,
    about: &'static str,
    run: fn(&Bench, &mut BenchReport) -> Result<()>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { id: "P1", about: "latency of one call at a time", run: p1_latency::run },
    Measurement { id: "P2", about: "calls a second with many in flight", run: p2_throughput::run },
    Measurement { id: "P3", about: "cold start", run: p3_start::run },
    Measurement { id: "P4", about: "memory", run: p4_memory::run },
    Measurement { id: "P5", about: "hot reload of a gate", run: p5_reload::run },
    Measurement { id: "P6", about: "a reply of 1 MB", run: p6_large::run },
    Measurement { id: "P7", about: "calls over HTTP", run: p7_http::run },
    Measurement { id: "P8", about: "a call of a server's tool", run: added_time::server_tool },
    Measurement { id: "P8h", about: "a call of an HTTP server's tool", run: added_time::http_server_tool },
    Measurement { id: "P9", about: "a search of servers' tools", run: text_ports::tools },
    Measurement { id: "P10", about: "a search of the knowledge graph", run: p10_knowledge::run },
    Measurement { id: "P11", about: "the digest of a large result", run: text_ports::digests },
    Measurement { id: "P12", about: "an extract of a long document", run: text_ports::extracts },
    Measurement { id: "P13", about: "tokens: the list of tools, and a task (P15)", run: p13_context::run },
    Measurement { id: "P14", about: "the binary's weight", run: p14_weight::run },
    Measurement { id: "P16", about: "indexing documents, and a search of them", run: p16_documents::run },
    Measurement { id: "P17", about: "tasks: directly, by the proxy, by a script", run: p17_tasks::run },
    Measurement { id: "P18", about: "a script of one line", run: added_time::script },
    Measurement { id: "P19", about: "a host for a team", run: p19_team::run },
    Measurement { id: "P20", about: "artifacts and values of gates on each engine", run: p20_stores::run },
];

/// Measurements of the gateway alone, which `--noise` skips.
const GATEWAY_ALONE: [&str; 10] = ["P5", "P8", "P8h", "P10", "P13", "P16", "P17", "P18", "P19", "P20"];

#[derive(Clone, Copy)]
enum BenchSide {
    Gateway,
    Floor,
}

fn counted_gates(gates: usize) -> String {
    format!("{gates} {}", if gates == 1 { "gate" } else { "gates" })
}

/// Returns the sides in order: both once per round. The side that ends a round starts the next.
fn turns(rounds: usize) -> impl Iterator<Item = BenchSide> {
    (0..2 * rounds).map(|turn| if turn.div_ceil(2) % 2 == 0 { BenchSide::Gateway } else { BenchSide::Floor })
}

#[derive(Default)]
struct Options {
    quick: bool,
    noise: bool,
    quality: bool,
    peers: bool,
    profile: bool,
    growth: bool,
    /// Build to measure instead of that of this checkout.
    binary: Option<PathBuf>,
    from_nothing: bool,
    publish: bool,
    data: Option<PathBuf>,
    json: Option<PathBuf>,
    only: Vec<String>,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = parse(arguments)?;
    let workspace = Workspace::load()?;
    if options.publish {
        return publish::run(&workspace.root);
    }
    for (wanted, run) in [
        (options.peers, peers::run as fn(&Bench) -> Result<()>),
        (options.profile, profile::run),
        (options.growth, growth::run),
    ] {
        if wanted {
            build(&workspace, false, options.binary.is_some())?;
            return run(&Bench::new(&workspace, options.quick, false)?.with_binary(options.binary));
        }
    }
    let mut report = BenchReport::new(&workspace, options.quick, options.noise)?;
    if options.quality {
        quality::run(&workspace, options.data, &mut report)?;
    }
    // Quality alone needs no gateway.
    if !options.quality || !options.only.is_empty() {
        build(&workspace, options.noise, options.binary.is_some())?;
        let mut bench = Bench::new(&workspace, options.quick, options.noise)?.with_binary(options.binary);
        bench.from_nothing = options.from_nothing;
        for measurement in MEASUREMENTS {
            if options.only.is_empty() || options.only.iter().any(|id| id == measurement.id) {
                eprintln!("{} {} …", measurement.id, measurement.about);
                if !(options.noise && GATEWAY_ALONE.contains(&measurement.id)) {
                    (measurement.run)(&bench, &mut report).with_context(|| measurement.id)?;
                }
            }
        }
    }
    report.finish();
    print!("{}", report.table());
    let file = options.json.unwrap_or_else(|| workspace.root.join("target/bench.json"));
    fs::write(&file, report.json()?).with_context(|| format!("cannot write {}", file.display()))?;
    println!("written to {}", file.display());
    report.verdict()
}

fn parse(arguments: &[String]) -> Result<Options> {
    let mut options = Options::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = |kind: &str| {
            rest.next().map(PathBuf::from).ok_or_else(|| UsageError(format!("{argument} needs {kind}")))
        };
        match argument.as_str() {
            "--quick" => options.quick = true,
            "--noise" => options.noise = true,
            "--from-nothing" => options.from_nothing = true,
            "--quality" => options.quality = true,
            "--peers" => options.peers = true,
            "--profile" => options.profile = true,
            "--growth" => options.growth = true,
            "--publish" => options.publish = true,
            "--binary" => options.binary = Some(value("a file")?),
            "--data" => options.data = Some(value("a directory")?),
            "--json" => options.json = Some(value("a file")?),
            id if MEASUREMENTS.iter().any(|measurement| measurement.id == id) => options.only.push(id.into()),
            other => return Err(UsageError(format!("unexpected argument '{other}'")).into()),
        }
    }
    Ok(options)
}

/// Makes release builds of everything to measure, one package at a time.
///
/// One joint build would unify features, and the gateway would differ from the one that `cargo xtask run` builds.
fn build(workspace: &Workspace, noise: bool, has_binary: bool) -> Result<()> {
    let release = |package| {
        let mut command = process::cargo();
        command.current_dir(&workspace.root).args(["build", "--release", "-p", package]);
        process::run(&mut command)
    };
    release("bench-floor")?;
    if !noise {
        gates::build(workspace, GateSelection::All, &snapshot::WORKSPACE)?;
        if !has_binary {
            release("gatehouse")?;
        }
    }
    Ok(())
}
