//! `cargo xtask soak`: honest clients next to hostile sources and a greedy person, compared with an equally busy honest
//! person.
//!
//! `soak GATEHOUSE SERVER GATES SECONDS`: the program, the fixture server, the directory of the fixture gates, and the
//! length of each of the four runs.

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
use serde_json::json;

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
    let measure = |neighbours: &'static [Neighbour]| {
        run(&Host::start(&PathBuf::from(program), server, gates), length, neighbours)
    };
    let busy = measure(&BUSY);
    report("next to an equally busy honest person", &busy);
    let mut ok = busy.failed.is_empty();
    for (what, neighbours, limit) in [
        ("next to a hostile server, gate and documents", &HOSTILE[..], None),
        ("next to one greedy person", &GREEDY[..], Some(MAX_RATIO)),
        ("next to hostile skills and progress", &SKILLS[..], Some(MAX_RATIO)),
    ] {
        let attacked = measure(neighbours);
        report(what, &attacked);
        let ratio = p(&attacked, 99).as_secs_f64() / p(&busy, 99).as_secs_f64();
        println!("  honest p99: {ratio:.1} times the p99 next to the honest person");
        ok &= attacked.failed.is_empty() && limit.is_none_or(|limit| ratio <= limit);
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Maximum ratio of the p99 next to attackers to that next to an honest person.
const MAX_RATIO: f64 = 3.0;

/// Clients of another person, which repeat something until the end: their number, the preset, and what they do.
type Neighbour = (usize, &'static str, fn(&mut Client));

const BUSY: [Neighbour; 3] = [
    (1, "good", |client| drop(client.call("good__echo", &json!({"text": "busy"})))),
    (1, "good", |client| drop(client.call("good__large", &json!({"megabytes": 4})))),
    (1, "good", |client| drop(client.call("good__echo", &json!({"text": "x".repeat(100_000)})))),
];

const HOSTILE: [Neighbour; 14] = [
    (1, "hostile", |client| drop(client.call("bad__notify", &json!({"count": 20_000})))),
    (1, "hostile", |client| {
        let method = "notifications/prompts/list_changed";
        drop(client.call("bad__notify", &json!({"count": 20_000, "method": method})));
    }),
    (1, "hostile", |client| drop(client.call("bad__values", &json!({"count": 6_000_000})))),
    (1, "hostile", |client| drop(client.call("bad__values", &json!({"count": 400_000})))),
    (1, "hostile", |client| drop(client.call("bad__raw", &json!({"text": "[".repeat(100_000)})))),
    (1, "hostile", |client| drop(client.call("bad__large", &json!({"megabytes": 15})))),
    (1, "hostile", |client| drop(client.call("bad__flood", &json!({})))),
    (1, "hostile", |client| drop(client.call("bad__die", &json!({})))),
    (1, "deaf", |client| drop(client.call("deaf__question", &json!({"method": "ping"})))),
    (1, "hostile", |client| drop(client.call("vice_memory", &json!({})))),
    (1, "hostile", |client| drop(client.call("vice_recursion", &json!({})))),
    (1, "hostile", |client| drop(client.call("vice_flood", &json!({})))),
    (1, "hostile", |client| drop(client.call("vice_objects", &json!({})))),
    (1, "documents", |client| drop(client.call("extracts", &json!({})))),
];

const GREEDY: [Neighbour; 3] = [
    // Calls that end at their time limit.
    (96, "good", |client| drop(client.call("good__never", &json!({})))),
    (256, "good", |client| {
        let stream = client.listen();
        thread::park_timeout(Duration::from_secs(30));
        drop(stream);
    }),
    (16, "honest", |client| drop(client.call("echo", &json!({"text": "x".repeat(3_900_000)})))),
];

const SKILLS: [Neighbour; 2] = [
    (4, "skills", |client| drop(client.read("skill://server/skilled/deep/SKILL.md"))),
    (8, "hostile", |client| {
        client.call_and_leave("bad__progress", &json!({"count": 1_000, "bytes": 100_000}))
    }),
];

fn run(host: &Host, length: Duration, neighbours: &'static [Neighbour]) -> Findings {
    let (over, disturbances) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut findings = Findings::default();
    thread::scope(|scope| {
        let honest: Vec<_> = (0..HONEST).map(|_| scope.spawn(|| be_honest(host, &over))).collect();
        let each = neighbours.iter().flat_map(|neighbour| std::iter::repeat_n(neighbour, neighbour.0));
        let others: Vec<_> = each
            .map(|(_, preset, act)| {
                let (over, disturbances) = (&over, &disturbances);
                scope.spawn(move || {
                    let mut client = Client::open(host.address(), host.other_key(), preset);
                    while !over.load(Ordering::Relaxed) {
                        act(&mut client);
                        disturbances.fetch_add(1, Ordering::Relaxed);
                        thread::park_timeout(PAUSE);
                    }
                })
            })
            .collect();
        let start = Instant::now();
        while start.elapsed() < length {
            thread::park_timeout(Duration::from_secs(1).min(length - start.elapsed().min(length)));
            if findings.warm == 0 && start.elapsed() >= WARM.min(length / 2) {
                findings.warm = host.memory("VmRSS:");
            }
        }
        (findings.end, findings.peak) = (host.memory("VmRSS:"), host.memory("VmHWM:"));
        over.store(true, Ordering::Relaxed);
        others.iter().for_each(|other| other.thread().unpark());
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
    let mut client = Client::open(host.address(), host.honest_key(), "honest");
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
