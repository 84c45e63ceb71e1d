//! Servers that the tests share, started on free ports for one run.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
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
    pub(crate) process: Child,
    pub(crate) folder: PathBuf,
    pub(crate) environment: Vec<(&'static str, OsString)>,
}

impl TestServer {
    fn has_ended(&mut self) -> bool {
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
        let environment = vec![
            ("GATEHOUSE_TEST_POSTGRES", url.into()),
            ("GATEHOUSE_TEST_PG_BIN", programs.into_os_string()),
        ];
        Ok(Self { process, folder, environment })
    }

    /// Starts ArcadeDB, which speaks Bolt and Cypher and replaces Neo4j in the tests.
    pub(crate) fn arcadedb() -> Result<Self> {
        let package = arcadedb_package(&tools::ARCADEDB.ensure()?)?;
        let folder = std::env::temp_dir().join(format!("gatehouse-arcadedb-{}", std::process::id()));
        for part in ["databases", "log", "config"] {
            let part = folder.join(part);
            fs::create_dir_all(&part).with_context(|| format!("cannot create {}", part.display()))?;
        }
        let (http, bolt) = (free_port()?, free_port()?);
        let output = folder.join("output");
        let log = fs::File::create(&output).context("cannot create a log for ArcadeDB")?;
        let mut command = arcadedb_command(&package, &folder, (http, bolt));
        command.stdout(log.try_clone().context("cannot share the log")?).stderr(log);
        let process = command.spawn().context("cannot start ArcadeDB's Java")?;
        let environment = vec![("GATEHOUSE_TEST_ARCADEDB", format!("{http},{bolt}").into())];
        let mut server = Self { process, folder, environment };
        let start = Instant::now();
        while !is_arcadedb_ready(http, bolt) {
            if server.has_ended() || start.elapsed() > ARCADEDB_START_TIMEOUT {
                let output = fs::read_to_string(&output).unwrap_or_default();
                bail!("ArcadeDB is not ready:\n{output}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(server)
    }
}

fn start_postgres(programs: &Path, folder: &Path) -> Result<(Child, u16)> {
    chown_to_nobody(folder)?;
    let data = folder.join("data");
    let mut initdb = as_nobody(&programs.join("initdb"));
    initdb.arg("-D").arg(&data).args(["-U", "gatehouse", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]);
    process::output(initdb.args(["--no-sync", "--wal-segsize=1"]))?;
    let port = free_port()?;
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

fn chown_to_nobody(folder: &Path) -> Result<()> {
    #[cfg(unix)]
    if is_root() {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY))
            .with_context(|| format!("cannot change the owner of {}", folder.display()))?;
    }
    Ok(())
}

/// Password of `root`, the only account of ArcadeDB. The tests know it too; the server listens on loopback only.
const ARCADEDB_PASSWORD: &str = "playwithdata";

const ARCADEDB_START_TIMEOUT: Duration = Duration::from_secs(60);

const JAVA_FLAGS: [&str; 5] = [
    "--add-exports=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];

fn arcadedb_command(package: &Path, folder: &Path, (http, bolt): (u16, u16)) -> Command {
    let set = |name: &str, value: &str| format!("-Darcadedb.{name}={value}");
    let mut command = process::command(package.join("jre/bin/java"));
    command.args(["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC"]).args(JAVA_FLAGS);
    command.args(["--add-modules", "jdk.incubator.vector", "-Dpolyglot.engine.WarnInterpreterOnly=false"]);
    command.args([
        set("server.rootPath", &folder.to_string_lossy()),
        set("server.databaseDirectory", &folder.join("databases").to_string_lossy()),
        set("server.rootPassword", ARCADEDB_PASSWORD),
        set("server.httpIncomingHost", "127.0.0.1"),
        set("server.httpIncomingPort", &http.to_string()),
        set("server.plugins", "BoltProtocolPlugin"),
        set("bolt.host", "127.0.0.1"),
        set("bolt.port", &bolt.to_string()),
    ]);
    command.arg("-cp").arg(package.join("jars/*")).arg("com.arcadedb.server.ArcadeDBServer");
    command.current_dir(folder);
    command
}

fn is_arcadedb_ready(http: u16, bolt: u16) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", http))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /api/v1/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 20"))
        && TcpStream::connect(("127.0.0.1", bolt)).is_ok()
}

/// Finds the installed Python package in a virtual environment of any Python version.
fn arcadedb_package(environment: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(environment.join("lib")).context("the environment has no libraries")? {
        let package = entry?.path().join("site-packages/arcadedb_embedded");
        if package.is_dir() {
            return Ok(package);
        }
    }
    bail!("arcadedb_embedded is not in {}", environment.display())
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}
