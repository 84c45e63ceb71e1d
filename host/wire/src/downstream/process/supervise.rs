//! The process between the host and a server that it started. It stays when the server leaves children behind, and takes
//! them along; and it ends with the host, however that ended, so that nothing the host started outlives it.
//!
//! On Linux it asks for a signal when its parent dies, and adopts orphans below it, so that it knows them all. Elsewhere it ends
//! the server's process group.

use std::{
    ffi::OsString,
    fs::File,
    process::{Command, ExitCode, Stdio},
};

use rustix::process::Pid;
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// The name of the command that this program is started with to supervise: `__supervise PARENT PROGRAM [ARGUMENT]…`.
pub const SUPERVISE: &str = "__supervise";

/// What a shell says of a program that cannot be started.
const NOT_STARTED: u8 = 127;

/// Runs a program to its end, and then ends whatever it left behind. `arguments` are those after the command's name.
pub fn supervise(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let parent = arguments.next().and_then(|parent| parent.to_str()?.parse::<i32>().ok());
    let Some(program) = arguments.next() else { return ExitCode::from(NOT_STARTED) };
    bind_to_parent();
    // A parent that died before the signal was asked for sends none.
    if rustix::process::getppid().map(Pid::as_raw_pid) != parent {
        return ExitCode::FAILURE;
    }
    let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return ExitCode::FAILURE };
    let code = runtime.block_on(run(&program, arguments));
    end_descendants();
    code
}

async fn run(program: &OsString, arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut term), Ok(mut interrupt), Ok(mut hang_up)] = signals else { return ExitCode::FAILURE };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let mut child = match tokio::process::Command::from(command).spawn() {
        Ok(child) => child,
        Err(error) => {
            // Standard error is the host's: this line is what it tells.
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "{}: {error}", program.to_string_lossy());
            return ExitCode::from(NOT_STARTED);
        }
    };
    // The pipes are the server's alone: each side sees that the other one has closed.
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
    tokio::select! {
        status = child.wait() => {
            let code = status.ok().and_then(|status| u8::try_from(status.code()?).ok());
            code.map_or(ExitCode::FAILURE, ExitCode::from)
        }
        _ = term.recv() => ExitCode::FAILURE,
        _ = interrupt.recv() => ExitCode::FAILURE,
        _ = hang_up.recv() => ExitCode::FAILURE,
    }
}

#[cfg(target_os = "linux")]
fn bind_to_parent() {
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM));
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

#[cfg(not(target_os = "linux"))]
fn bind_to_parent() {}

/// Ends every process below this one. As it adopts what loses its parent, none is below it once it has no child.
#[cfg(target_os = "linux")]
fn end_descendants() {
    use rustix::process::{Signal, WaitOptions, kill_process, wait};

    loop {
        let children = children();
        for child in &children {
            let _ = kill_process(*child, Signal::KILL);
        }
        // Reaps one that was killed; fails where there is none left.
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

#[cfg(not(target_os = "linux"))]
fn end_descendants() {
    let _ = rustix::process::kill_process_group(rustix::process::getpid(), rustix::process::Signal::KILL);
}
