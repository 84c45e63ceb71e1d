//! `cargo xtask soak`: honest clients next to hostile sources, compared with an equally busy honest server.
//!
//! `soak GATEHOUSE SERVER GATES SECONDS`: the program, the fixture server, the directory of the fixture gates, and the
//! length of each of the two runs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output is for the user")]

mod client;
mod host;

use std::{
    path::PathBuf,
    process::ExitCode,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use client::Client;
use host::Host;
use serde_json::{Value, json};

const HONEST: usize = 4;

/// Pause between two calls of a client, for its work on the results.
const PAUSE: Duration = Duration::from_millis(5);

/// Warm-up before the first memory measurement; memory should then stay the same.
const WARM: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Findings {
    times: Vec<Duration>,
    failed: Vec<String>,
    disturbances: u64,
    warm: u64,
    end: u64,
    peak: u64,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, server, gates, seconds] = &arguments[..] else {
        eprintln!("usage: soak GATEHOUSE SERVER GATES SECONDS");
        return ExitCode::from(2);
    };
    let Ok(seconds) = seconds.parse() else {
        eprintln!("invalid value '{seconds}' for SECONDS: expected a whole number such as 600");
        return ExitCode::from(2);
    };
    let length = Duration::from_secs(seconds);
    let host = || Host::start(&PathBuf::from(program), server, gates);
    let busy = run(&host(), length, &BUSY);
    report("next to an equally busy honest server", &busy);
    let hostile = run(&host(), length, &HOSTILE);
    report("next to a hostile server, gate and documents", &hostile);
    let (usual, attacked) = (p(&busy, 99), p(&hostile, 99));
    println!(
        "honest p99: {:.1} times the p99 next to the honest server",
        attacked.as_secs_f64() / usual.as_secs_f64()
    );
    let ok = hostile.failed.is_empty() && busy.failed.is_empty();
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A call that keeps the host busy: preset, tool and arguments.
type BusyCall = (&'static str, &'static str, fn() -> Value);

const BUSY: [BusyCall; 3] = [
    ("good", "good__echo", || json!({"text": "busy"})),
    ("good", "good__large", || json!({"megabytes": 4})),
    ("good", "good__echo", || json!({"text": "x".repeat(100_000)})),
];

const HOSTILE: [BusyCall; 14] = [
    ("hostile", "bad__notify", || json!({"count": 20_000})),
    ("hostile", "bad__notify", || json!({"count": 20_000, "method": "notifications/prompts/list_changed"})),
    ("hostile", "bad__values", || json!({"count": 6_000_000})),
    ("hostile", "bad__values", || json!({"count": 400_000})),
    ("hostile", "bad__raw", || json!({"text": "[".repeat(100_000)})),
    ("hostile", "bad__large", || json!({"megabytes": 15})),
    ("hostile", "bad__flood", || json!({})),
    ("hostile", "bad__die", || json!({})),
    ("deaf", "deaf__question", || json!({"method": "ping"})),
    ("hostile", "vice_memory", || json!({})),
    ("hostile", "vice_recursion", || json!({})),
    ("hostile", "vice_flood", || json!({})),
    ("hostile", "vice_objects", || json!({})),
    ("documents", "extracts", || json!({})),
];

fn run(host: &Host, length: Duration, calls: &'static [BusyCall]) -> Findings {
    let (over, disturbances) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut findings = Findings::default();
    thread::scope(|scope| {
        let honest: Vec<_> = (0..HONEST).map(|_| scope.spawn(|| be_honest(host, &over))).collect();
        for (preset, tool, arguments) in calls {
            let (over, disturbances) = (&over, &disturbances);
            scope.spawn(move || {
                let mut client = Client::open(host.address(), preset);
                while !over.load(Ordering::Relaxed) {
                    let _ = client.call(tool, &arguments());
                    disturbances.fetch_add(1, Ordering::Relaxed);
                    thread::park_timeout(PAUSE);
                }
            });
        }
        let start = Instant::now();
        while start.elapsed() < length {
            thread::park_timeout(Duration::from_secs(1).min(length - start.elapsed().min(length)));
            if findings.warm == 0 && start.elapsed() >= WARM.min(length / 2) {
                findings.warm = host.memory("VmRSS:");
            }
        }
        (findings.end, findings.peak) = (host.memory("VmRSS:"), host.memory("VmHWM:"));
        over.store(true, Ordering::Relaxed);
        for client in honest {
            let (times, failed) =
                client.join().unwrap_or_else(|_| (Vec::new(), vec!["a client panicked".into()]));
            findings.times.extend(times);
            findings.failed.extend(failed);
        }
    });
    findings.times.sort();
    findings.disturbances = disturbances.into_inner();
    findings
}

/// Calls a gate and a server in turn. Returns the latency of each call, and the wrong replies.
fn be_honest(host: &Host, over: &AtomicBool) -> (Vec<Duration>, Vec<String>) {
    let mut client = Client::open(host.address(), "honest");
    let (mut times, mut failed) = (Vec::new(), Vec::new());
    while !over.load(Ordering::Relaxed) {
        for tool in ["echo", "steady__echo"] {
            let text = format!("call {}", times.len());
            let start = Instant::now();
            let answer = client.call(tool, &json!({"text": text}));
            times.push(start.elapsed());
            match answer {
                Ok(reply) if reply.to_string().contains(&text) => {}
                Ok(reply) => failed.push(reply.to_string()),
                Err(reason) => failed.push(reason),
            }
            thread::park_timeout(PAUSE);
        }
    }
    (times, failed)
}

fn p(findings: &Findings, percent: usize) -> Duration {
    findings.times.get(findings.times.len() * percent / 100).copied().unwrap_or_default()
}

fn report(what: &str, findings: &Findings) {
    let Findings { times, failed, disturbances, warm, end, peak } = findings;
    let mib = |bytes: &u64| bytes >> 20;
    println!(
        "{what}: {} honest calls, {} failed; p50 {:?}, p99 {:?}",
        times.len(),
        failed.len(),
        p(findings, 50),
        p(findings, 99)
    );
    println!(
        "  {disturbances} other calls; memory {} MiB warm, {} MiB at the end, {} MiB at most",
        mib(warm),
        mib(end),
        mib(peak)
    );
    for reason in failed.iter().take(5) {
        println!("  failed: {reason:.300}");
    }
}
