//! Supervisor process between the host and a server. It ends all descendants of the server when the server exits or the
//! host dies, so that nothing the host started outlives it.
//!
//! On Linux, it gets a signal when its parent dies and adopts orphaned descendants. Elsewhere it ends the server's
//! process group.

use std::{
    ffi::OsString,
    fs::File,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use rustix::process::Pid;
use tokio::{
    runtime::Builder,
    signal::unix::{Signal as SignalStream, SignalKind, signal},
    time::Instant,
};

/// Subcommand of the supervisor: `__supervise PARENT PROGRAM [ARGUMENT]…`.
pub const SUPERVISE: &str = "__supervise";

/// Exit code of a program that cannot be started, as in shells.
const NOT_STARTED: u8 = 127;

/// Time between SIGTERM and SIGKILL when the host stops a server. Package runners use it to remove partly unpacked
/// packages, which would break later starts.
const END_GRACE: Duration = Duration::from_secs(10);

/// The same after the server exited on its own. The host learns of the exit only afterwards.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);

/// Runs a program to its end and then ends its remaining descendants. `arguments` excludes the subcommand.
pub fn supervise(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|parent| parent.to_str()?.parse::<i32>().ok());
    let Some(program) = arguments.next() else { return ExitCode::from(NOT_STARTED) };
    bind_to_parent();
    // If the parent died before the signal was set up, no signal arrives.
    if rustix::process::getppid().map(Pid::as_raw_pid) != parent {
        return ExitCode::FAILURE;
    }
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return ExitCode::FAILURE };
    runtime.block_on(run(&program, arguments))
}

async fn run(program: &OsString, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut term), Ok(mut interrupt), Ok(mut hang_up)] = signals else { return ExitCode::FAILURE };
    let Ok(mut ended) = signal(SignalKind::child()) else { return ExitCode::FAILURE };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = match tokio::process::Command::from(command).spawn() {
        Ok(child) => child,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.to_string_lossy());
            return ExitCode::from(NOT_STARTED);
        }
    };
    // Close the pipes here, so that the host and the server notice when the other closes them.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    let (code, grace) = tokio::select! {
        status = child.wait() => {
            let code = status.ok().and_then(|status| u8::try_from(status.code()?).ok());
            (code.map_or(ExitCode::FAILURE, ExitCode::from), ORPHAN_GRACE)
        }
        _ = term.recv() => (ExitCode::FAILURE, END_GRACE),
        _ = interrupt.recv() => (ExitCode::FAILURE, END_GRACE),
        _ = hang_up.recv() => (ExitCode::FAILURE, END_GRACE),
    };
    // The signal handlers stay installed, so that further signals do not cut the grace period short.
    end_descendants(&mut ended, Instant::now() + grace).await;
    code
}

#[cfg(target_os = "linux")]
fn bind_to_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn bind_to_parent() {}

/// Ends every descendant: sends SIGTERM, then SIGKILL at the deadline. Orphans become children of this process, so when
/// it has no child, it has no descendant.
///
/// Sends SIGTERM to each process once, when it becomes a child of this one: `npx` and `uvx` forward the signal, and
/// many programs treat a second SIGTERM as a demand to exit without cleaning up.
#[cfg(target_os = "linux")]
async fn end_descendants(ended: &mut SignalStream, deadline: Instant) {
    use rustix::process::{Signal, WaitOptions, kill_process, wait};
    use std::collections::HashSet;

    let mut signaled_children = HashSet::new();
    let mut in_time = true;
    while in_time {
        for child in children() {
            if signaled_children.insert(child) {
                let _ = kill_process(child, Signal::TERM);
            }
        }
        match wait(WaitOptions::NOHANG) {
            // The PID may be reused.
            Ok(Some((child, _))) => drop(signaled_children.remove(&child)),
            Ok(None) => in_time = tokio::time::timeout_at(deadline, ended.recv()).await.is_ok(),
            Err(_) => return,
        }
    }
    loop {
        for child in children() {
            let _ = kill_process(child, Signal::KILL);
        }
        if wait(WaitOptions::empty()).is_err() {
            return;
        }
    }
}

#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let of_thread = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("children")).ok();
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists: Vec<String> = threads.filter_map(of_thread).collect();
    let numbers = lists.iter().flat_map(|list| list.split_whitespace());
    numbers.filter_map(|number| Pid::from_raw(number.parse().ok()?)).collect()
}

/// Ends the process group of this process. Only children can be waited for; the rest of the group is killed after the
/// last child ends.
#[cfg(not(target_os = "linux"))]
async fn end_descendants(ended: &mut SignalStream, deadline: Instant) {
    use rustix::process::{Signal, WaitOptions, getpid, kill_process_group, wait};

    let _ = kill_process_group(getpid(), Signal::TERM);
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) if tokio::time::timeout_at(deadline, ended.recv()).await.is_ok() => {}
            Ok(None) | Err(_) => break,
        }
    }
    let _ = kill_process_group(getpid(), Signal::KILL);
}
