//! Servers that the tests share, started on free ports for one run.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::tools;

/// UID and GID of `nobody`; PostgreSQL refuses to run as root.
#[cfg(unix)]
const NOBODY: u32 = 65534;

/// A running server. Dropping it stops the server and removes its directory.
pub(crate) struct TestServer {
    process: Child,
    folder: PathBuf,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl TestServer {
    pub(crate) fn new(process: Child, folder: PathBuf, told: Vec<(&'static str, OsString)>) -> Self {
        Self { process, folder, environment: told }
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }

    /// Starts PostgreSQL with pgvector and a superuser that needs no password on loopback.
    pub(crate) fn postgres() -> Result<Self> {
        let programs = tools::POSTGRES.programs()?;
        let folder = std::env::temp_dir().join(format!("gatehouse-postgres-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let started = start_postgres(&programs, &folder);
        if started.is_err() {
            let _ = fs::remove_dir_all(&folder);
        }
        let (process, port) = started?;
        let url = format!("postgres://gatehouse@127.0.0.1:{port}/postgres");
        let told = vec![
            ("GATEHOUSE_TEST_POSTGRES", url.into()),
            ("GATEHOUSE_TEST_PG_BIN", programs.into_os_string()),
        ];
        Ok(Self { process, folder, environment: told })
    }
}

fn start_postgres(programs: &Path, folder: &Path) -> Result<(Child, u16)> {
    hand_over(folder)?;
    let data = folder.join("data");
    let mut initdb = as_nobody(&programs.join("initdb"));
    initdb.arg("-D").arg(&data).args(["-U", "gatehouse", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]);
    process::output(initdb.args(["--no-sync", "--wal-segsize=1"]))?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = as_nobody(&programs.join("postgres"));
    command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
    for setting in ["unix_socket_directories=", "fsync=off", "synchronous_commit=off", "full_page_writes=off"]
    {
        command.args(["-c", setting]);
    }
    let mut process =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start postgres")?;
    let log = process.stderr.take().context("postgres has no log")?;
    let mut lines = BufReader::new(log).lines().map_while(Result::ok);
    let mut seen = Vec::new();
    for line in lines.by_ref() {
        if line.contains("ready to accept connections") {
            // Drain the log: a full pipe would block the server.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok((process, port));
        }
        seen.push(line);
    }
    let _ = process.wait();
    bail!("postgres did not start:\n{}", seen.join("\n"))
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // SIGINT is a fast shutdown: PostgreSQL drops its clients and leaves no shared memory behind.
        let pid = self.process.id().to_string();
        // A background job of a shell without job control ignores SIGINT, so try SIGTERM next.
        for signal in ["-INT", "-TERM"] {
            if process::succeeds(process::command("kill").args([signal, &pid]))
                && self.ends_within(STOP_TIMEOUT)
            {
                break;
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl TestServer {
    fn ends_within(&mut self, time: Duration) -> bool {
        let start = Instant::now();
        while !self.has_ended() {
            if start.elapsed() > time {
                return false;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        true
    }
}

const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns `true` if this process runs as root; its servers then run as `nobody`.
pub(crate) fn is_root() -> bool {
    #[cfg(unix)]
    let uid = fs::metadata("/proc/self").map(|about| std::os::unix::fs::MetadataExt::uid(&about)).ok();
    #[cfg(not(unix))]
    let uid: Option<u32> = None;
    uid == Some(0)
}

fn as_nobody(program: &Path) -> Command {
    let mut command = process::command(program);
    command.current_dir(std::env::temp_dir());
    #[cfg(unix)]
    if is_root() {
        use std::os::unix::process::CommandExt;
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn hand_over(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    if is_root() {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
            .with_context(|| format!("cannot change the owner of {}", folder.display()))?;
    }
    Ok(())
}
