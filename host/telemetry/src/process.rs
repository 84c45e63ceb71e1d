//! Metrics of the process itself, with the names that Prometheus' own libraries give them. Linux only.

use std::{fs, sync::atomic::Ordering};

use crate::Metrics;

/// Clock ticks of `/proc`, which are fixed for programs, though the kernel itself may use others (proc(5), `USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) fn refresh(metrics: &Metrics) -> Option<()> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may have spaces.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // Numbers of proc(5), less the two fields before and one because they count from 1.
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let cpu = (field(14)? + field(15)?) / TICKS_PER_SECOND;
    metrics.process_cpu.series([]).inner().store(cpu.to_bits(), Ordering::Relaxed);
    let booted = fs::read_to_string("/proc/stat").ok()?;
    let booted: f64 = booted.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    metrics.process_start.series([]).set(booted + field(22)? / TICKS_PER_SECOND);
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = resident.trim().trim_end_matches(" kB").parse().ok()?;
    metrics.process_memory.series([]).set(kilobytes << 10);
    let files = fs::read_dir("/proc/self/fd").ok()?.count();
    metrics.process_files.series([]).set(i64::try_from(files).ok()?);
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let most = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    metrics.process_max_files.series([]).set(most.split_whitespace().next()?.parse().ok()?);
    Some(())
}
