//! Server processes: their environment, pipes, standard error and exit. Each runs under a supervisor, another process
//! of this program, see [`supervise`].

mod error_output;
mod supervise;

use std::{
    ffi::OsString,
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread,
    time::Duration,
};

use gatehouse_core::{http::Secret, names::quoted, ports::servers::ServerTransport};
use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    sync::watch,
};

pub use supervise::{SUPERVISE, supervise};

use super::{DownstreamSettings, connection::ConnectFailure, peer::InboundLimits};
use error_output::ErrorOutput;

/// Time for a server to exit after its input closes, and then for its supervisor to exit.
const END_GRACE: Duration = Duration::from_secs(3);

/// Environment variables of the host that server processes inherit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InheritedEnv {
    pub passed: Vec<(String, OsString)>,
    /// Variables that a process may need, but gets only if its definition names them.
    pub withheld: Vec<WithheldVariable>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithheldVariable {
    pub name: String,
    /// Reason, shown in parentheses after the name.
    pub reason: &'static str,
}

impl InheritedEnv {
    /// Describes the variables that the server lacks, and the line that passes one on. `None` if it lacks none.
    pub(in crate::downstream) fn withheld_from(
        &self,
        server: &str,
        own_variables: &[(String, Secret)],
    ) -> Option<String> {
        let is_own =
            |variable: &WithheldVariable| own_variables.iter().any(|(name, _)| *name == variable.name);
        let withheld: Vec<_> = self.withheld.iter().filter(|variable| !is_own(variable)).collect();
        if withheld.is_empty() {
            return None;
        }
        let list =
            withheld.iter().map(|variable| format!("{} ({})", quoted(&variable.name, 64), variable.reason));
        let list = list.collect::<Vec<_>>().join(", ");
        // `${…}` cannot contain a name such as `npm_config_//host/:_auth`.
        let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let example = withheld.iter().map(|variable| variable.name.as_str()).find(is_plain);
        let example =
            example.map(|name| format!(": env = {{ {name} = \"${{{name}}}\" }}")).unwrap_or_default();
        Some(format!(
            "set for the host but not passed on: {list}; [servers.{server}] can pass them on{example}"
        ))
    }
}

pub(super) struct ServerProcess {
    supervisor: Pid,
    errors: Arc<ErrorOutput>,
    exit: watch::Receiver<Option<String>>,
}

impl ServerProcess {
    pub(super) fn start(
        settings: &DownstreamSettings,
        transport: &ServerTransport,
        limits: &InboundLimits,
    ) -> Result<(Self, Receiver, Sender), ConnectFailure> {
        let ServerTransport::Stdio { command, args, env, cwd } = transport else {
            return Err(ConnectFailure::permanent("its transport is not stdio"));
        };
        let DownstreamSettings { program, base, inherited, .. } = settings;
        let mut supervised = Command::new(program);
        supervised.arg(SUPERVISE).arg(std::process::id().to_string()).arg(command).args(args);
        supervised.env_clear();
        supervised.envs(inherited.passed.iter().map(|(name, value)| (name, value)));
        supervised.envs(env.iter().map(|(name, value)| (name, value.reveal())));
        supervised.current_dir(cwd.as_ref().unwrap_or(base));
        supervised.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A process group of its own keeps terminal signals of the host from its servers.
        supervised.process_group(0);
        let (started, starting) = std::sync::mpsc::sync_channel(1);
        let errors = Arc::new(ErrorOutput::new(Arc::clone(&limits.redactor), limits.log.clone()));
        let (sender, exit) = watch::channel(None);
        let output = Arc::clone(&errors);
        // The thread must outlive the process: its end sends the parent-death signal to the supervisor.
        thread::Builder::new()
            .name("server".into())
            .spawn(move || {
                let mut child = match supervised.spawn() {
                    Ok(child) => child,
                    Err(error) => {
                        let _ = started.send(Err(error));
                        return;
                    }
                };
                let errors = child.stderr.take();
                let _ = started.send(Ok(pipes(&mut child)));
                if let Some(errors) = errors {
                    output.read_to_end(errors);
                }
                let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                sender.send_replace(Some(status));
            })
            .map_err(|error| ConnectFailure::transient(format!("cannot start a thread for it: {error}")))?;
        let failed = |error: io::Error| {
            let directory = cwd.as_ref().unwrap_or(base);
            let reason = if directory.is_dir() {
                error.to_string()
            } else {
                format!("directory {} does not exist", directory.display())
            };
            ConnectFailure::permanent(format!("cannot start '{}': {reason}", quoted(command, 200)))
        };
        let began = starting.recv().map_err(|_| ConnectFailure::transient("its thread ended"))?;
        let (pid, input, output) = began.and_then(|pipes| pipes).map_err(failed)?;
        let (output, input) = Receiver::from_owned_fd(output)
            .and_then(|output| Ok((output, Sender::from_owned_fd(input)?)))
            .map_err(|error| ConnectFailure::transient(format!("cannot use its pipes: {error}")))?;
        Ok((Self { supervisor: pid, errors, exit }, output, input))
    }

    pub(super) fn error_summary(&self) -> Option<String> {
        self.errors.error_summary()
    }

    pub(super) async fn ended(&self) -> String {
        let mut exit = self.exit.clone();
        let status = exit.wait_for(Option::is_some).await;
        status.ok().and_then(|status| status.clone()).unwrap_or_else(|| "it has ended".into())
    }

    /// Stops the server and its descendants. Its input must be closed already. The supervisor may take longer than this
    /// waits.
    pub(super) async fn end(&self) {
        if tokio::time::timeout(END_GRACE, self.ended()).await.is_err() {
            let _ = kill_process(self.supervisor, Signal::TERM);
            let _ = tokio::time::timeout(END_GRACE, self.ended()).await;
        }
    }
}

impl Drop for ServerProcess {
    /// Only signals the supervisor, which waits for the processes.
    fn drop(&mut self) {
        if self.exit.borrow().is_none() {
            let _ = kill_process(self.supervisor, Signal::TERM);
        }
    }
}

fn pipes(child: &mut Child) -> io::Result<(Pid, OwnedFd, OwnedFd)> {
    let missing = || io::Error::other("a pipe is missing");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or_else(missing)?;
    let input = child.stdin.take().ok_or_else(missing)?;
    let output = child.stdout.take().ok_or_else(missing)?;
    Ok((pid, input.into(), output.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withheld_variables_are_named_with_the_line_to_add() {
        let withheld = |name: &str| WithheldVariable { name: name.into(), reason: "secret" };
        let withheld = vec![withheld("npm_config_//a/:_auth"), withheld("HTTPS_PROXY")];
        let inherited = InheritedEnv { withheld, ..InheritedEnv::default() };
        let described = |own: &[&str]| {
            let own: Vec<_> = own.iter().map(|name| ((*name).to_owned(), Secret::new("x"))).collect();
            inherited.withheld_from("s", &own)
        };
        assert_eq!(
            described(&[]).as_deref(),
            Some(
                "set for the host but not passed on: npm_config_//a/:_auth (secret), HTTPS_PROXY (secret); \
                 [servers.s] can pass them on: env = { HTTPS_PROXY = \"${HTTPS_PROXY}\" }"
            )
        );
        assert_eq!(
            described(&["HTTPS_PROXY"]).as_deref(),
            Some(
                "set for the host but not passed on: npm_config_//a/:_auth (secret); [servers.s] can pass them on"
            )
        );
        assert_eq!(described(&["npm_config_//a/:_auth", "HTTPS_PROXY"]), None);
    }
}
