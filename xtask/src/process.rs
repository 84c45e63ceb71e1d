//! Runs other programs. A child never outlives this process: on Linux the kernel ends it; elsewhere the terminal's
//! interrupt reaches the whole process group.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Returns a command that ends with this process and has an empty stdin.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    end_with_parent(&mut command);
    command
}

/// Returns the cargo that started this process, so that all builds use one toolchain.
pub(crate) fn cargo() -> Command {
    command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = render(command);
    eprintln!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Returns the stdout of a command and passes its stderr through.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = render(command);
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({})", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` wrote something that is not UTF-8"))
}

pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

pub(crate) fn render(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let mut line = name.into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

/// Has the kernel end the child when this process exits, even by a crash.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "std has no other way to act between fork and exec")]
fn end_with_parent(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    let parent = std::process::id();
    let tie = move || {
        // SAFETY: both functions are async-signal-safe and take no pointers.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
            if libc::getppid() as u32 != parent {
                libc::_exit(1);
            }
        }
        Ok(())
    };
    // SAFETY: the closure allocates nothing and takes no locks.
    unsafe { command.pre_exec(tie) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_command: &mut Command) {}
