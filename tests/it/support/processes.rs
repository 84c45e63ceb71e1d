//! Processes that a host starts.

use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// Returns all descendants of a process, with their command lines.
pub(crate) fn below(pid: u32) -> BTreeMap<u32, String> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(child) = number else { continue };
        // A program's name may contain spaces and brackets, so count fields from the last bracket.
        let Ok(stat) = fs::read_to_string(format!("/proc/{child}/stat")) else { continue };
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        parents.extend(parent.map(|parent: u32| (child, parent)));
    }
    let mut found = BTreeMap::new();
    let mut next = vec![pid];
    while let Some(parent) = next.pop() {
        for (child, _) in parents.iter().filter(|(_, of)| *of == parent) {
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            found.insert(*child, String::from_utf8_lossy(&line).replace('\0', " "));
            next.push(*child);
        }
    }
    found
}

pub(crate) fn end_all(processes: &BTreeMap<u32, String>) {
    let end = Instant::now() + Duration::from_secs(20);
    for (pid, line) in processes {
        let raw = i32::try_from(*pid).expect("a process number");
        let Ok(process) = pidfd_open(Pid::from_raw(raw).expect("not 0"), PidfdFlags::empty()) else {
            continue;
        };
        let mut waits = [PollFd::new(&process, PollFlags::IN)];
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let ended = poll(&mut waits, Some(&left)).expect("a poll");
        assert_eq!(ended, 1, "{pid} still runs: {line}");
    }
}
