//! `cargo xtask bench --profile`: processor time of a call by part of the program, sampled with `perf`. The build needs
//! its symbols, so it is measured with `--binary`.

use std::process::{Child, Command};

use anyhow::{Context, Result, ensure};

use super::http_server::HttpEra;
use super::server::BenchServer;
use super::setup::Bench;
use super::stats::cpu_seconds;
use crate::process;

const SECONDS: &str = "5";
const SAMPLES_A_SECOND: &str = "4999";

/// Calls in flight for P2.
const FLIGHT: usize = 64;

/// Parts of the program by words in the names of its symbols. The first that matches counts.
const PARTS: &[(&str, &[&str])] = &[
    ("copies of memory", &["memmove", "memcpy", "memset", "memcmp", "bcmp"]),
    ("allocator", &["mi_", "malloc", "cfree", "realloc", "alloc::alloc", "rustc::__r"]),
    ("JSON", &["serde", "json"]),
    ("database", &["sqlite", "gatehouse_stores"]),
    ("sandbox: wasmtime", &["wasmtime", "cranelift", "wasm"]),
    ("sandbox: the host's side", &["gatehouse_sandbox"]),
    ("pipeline and rules", &["gatehouse_core", "gatehouse_text"]),
    ("protocol", &["gatehouse_wire", "gatehouse_net", "gatehouse", "rmcp"]),
    ("HTTP", &["hyper", "httparse", "http::", "axum", "tower"]),
    ("tasks", &["tokio", "mio::", "futures", "parking_lot", "tracing", "pthread"]),
];

const KERNEL: &str = "kernel: reading, writing, waking";
const GUEST: &str = "the gate's own code";
const OTHER: &str = "other";

/// Processor time of one path, in µs per call.
struct Profile {
    name: &'static str,
    total: f64,
    parts: Vec<(&'static str, f64)>,
}

pub(crate) fn run(bench: &Bench) -> Result<()> {
    let gateway = bench.gateway(1)?;
    let tools = &gateway.echo;
    let mut profiles = Vec::new();
    let mut stdio = bench.start(&gateway)?;
    profiles.push(profile(bench, "P1", &mut stdio, |server| server.echo(&tools[0]).map(|_| 1))?);
    profiles
        .push(profile(bench, "P2", &mut stdio, |server| Ok(server.echoes(tools, 5_000, FLIGHT)?.answered))?);
    drop(stdio);
    let http = bench.serve(&gateway, &[])?;
    let mut client = http.connect(HttpEra::Session, None)?;
    profiles.push(Profile::record(bench, "P7", http.process(), || client.echo(&tools[0]).map(|_| 1))?);
    let mut before = bench.start(&bench.before_floor()?)?;
    profiles.push(profile(bench, "P8", &mut before, |server| server.echo("floor__echo").map(|_| 1))?);
    let call_tool = |server: &mut BenchServer| server.call_tool("floor").map(|_| 1);
    profiles.push(profile(bench, "P8, `call_tool`", &mut before, call_tool)?);
    print(&profiles);
    Ok(())
}

fn profile(
    bench: &Bench,
    name: &'static str,
    server: &mut BenchServer,
    mut calls: impl FnMut(&mut BenchServer) -> Result<u64>,
) -> Result<Profile> {
    let process = server.process();
    Profile::record(bench, name, process, || calls(server))
}

fn print(profiles: &[Profile]) {
    let names: Vec<_> = profiles.iter().map(|profile| profile.name).collect();
    println!("| µs of processor time | {} |\n|---{}|", names.join(" | "), "|---:".repeat(names.len()));
    let row = |name: &str, value: &dyn Fn(&Profile) -> f64| {
        let values: Vec<_> = profiles.iter().map(|profile| format!("{:.1}", value(profile))).collect();
        println!("| {name} | {} |", values.join(" | "));
    };
    let parts = [KERNEL].into_iter().chain(PARTS.iter().map(|(part, _)| *part)).chain([GUEST, OTHER]);
    for part in parts {
        row(part, &|profile| {
            let times = profile.parts.iter().filter(|(name, _)| *name == part).map(|(_, time)| time);
            // The sum of no numbers is -0.
            times.sum::<f64>() + 0.0
        });
    }
    row("in all", &|profile| profile.total);
}

impl Profile {
    /// Samples a process while `calls` runs again and again. `calls` returns the number of its calls.
    fn record(
        bench: &Bench,
        name: &'static str,
        process: u32,
        mut calls: impl FnMut() -> Result<u64>,
    ) -> Result<Self> {
        for _ in 0..200 {
            calls()?;
        }
        let file = bench.folder.join("perf.data");
        let mut perf = process::command("perf");
        perf.args(["record", "-q", "-e", "cpu-clock", "-F", SAMPLES_A_SECOND, "-p", &process.to_string()]);
        perf.arg("-o").arg(&file).args(["--", "sleep", SECONDS]);
        let mut perf: Child = perf.spawn().context("cannot start `perf`; install linux-perf")?;
        let (mut done, begin) = (0, cpu_seconds(process)?);
        while perf.try_wait()?.is_none() {
            done += calls()?;
        }
        let total = (cpu_seconds(process)? - begin) * 1e6 / done as f64;
        let mut report = Command::new("perf");
        report.args([
            "report",
            "--stdio",
            "-g",
            "none",
            "--no-children",
            "-F",
            "overhead,dso,symbol",
            "-t",
            "|",
        ]);
        let shares = process::output(report.arg("-i").arg(&file))?;
        let parts: Vec<_> =
            shares.lines().filter_map(part_of).map(|(part, share)| (part, share * total / 100.0)).collect();
        let sampled_time: f64 = parts.iter().map(|(_, time)| time).sum();
        ensure!(sampled_time > 0.5 * total, "perf has no samples of {name}");
        Ok(Self { name, total, parts })
    }
}

/// Reads a line of the report: a share in percent, the file of the symbol, and the symbol.
fn part_of(line: &str) -> Option<(&'static str, f64)> {
    let mut columns = line.split('|').map(str::trim);
    let share = columns.next()?.strip_suffix('%')?.parse().ok()?;
    let (file, symbol) = (columns.next()?, columns.next()?);
    let part = if file.starts_with("[kernel") || symbol.starts_with("[k]") {
        KERNEL
    } else if file.starts_with("memfd") || file.contains("anon") || file.ends_with(".cwasm") {
        GUEST
    } else {
        let matching_part = PARTS.iter().find(|(_, words)| words.iter().any(|word| symbol.contains(word)));
        matching_part.map_or(OTHER, |(part, _)| part)
    };
    Some((part, share))
}
