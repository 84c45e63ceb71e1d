//! An ArcadeDB server for one test run. It speaks Bolt and Cypher and replaces Neo4j in the tests.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process;
use crate::servers::TestServer;
use crate::tools;

/// Password of `root`, its only account. The tests know it too; the server listens on loopback only.
const PASSWORD: &str = "playwithdata";

const START_TIMEOUT: Duration = Duration::from_secs(60);

const JAVA_FLAGS: [&str; 5] = [
    "--add-exports=java.management/sun.management=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-opens=java.base/java.nio.channels.spi=ALL-UNNAMED",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
];

pub(crate) fn start() -> Result<TestServer> {
    let package = package(&tools::ARCADEDB.ensure()?)?;
    let folder = std::env::temp_dir().join(format!("gatehouse-arcadedb-{}", std::process::id()));
    for part in ["databases", "log", "config"] {
        let part = folder.join(part);
        fs::create_dir_all(&part).with_context(|| format!("cannot create {}", part.display()))?;
    }
    let (http, bolt) = (free_port()?, free_port()?);
    let output = folder.join("output");
    let log = fs::File::create(&output).context("cannot create a log for ArcadeDB")?;
    let mut command = command(&package, &folder, (http, bolt));
    command.stdout(log.try_clone().context("cannot share the log")?).stderr(log);
    let process = command.spawn().context("cannot start ArcadeDB's Java")?;
    let told = vec![("GATEHOUSE_TEST_ARCADEDB", format!("{http},{bolt}").into())];
    let mut server = TestServer::new(process, folder, told);
    let start = Instant::now();
    while !is_ready(http, bolt) {
        if server.has_ended() || start.elapsed() > START_TIMEOUT {
            let output = fs::read_to_string(&output).unwrap_or_default();
            bail!("ArcadeDB is not ready:\n{output}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(server)
}

fn command(package: &Path, folder: &Path, (http, bolt): (u16, u16)) -> Command {
    let set = |name: &str, value: &str| format!("-Darcadedb.{name}={value}");
    let mut command = process::command(package.join("jre/bin/java"));
    command.args(["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC"]).args(JAVA_FLAGS);
    command.args(["--add-modules", "jdk.incubator.vector", "-Dpolyglot.engine.WarnInterpreterOnly=false"]);
    command.args([
        set("server.rootPath", &folder.to_string_lossy()),
        set("server.databaseDirectory", &folder.join("databases").to_string_lossy()),
        set("server.rootPassword", PASSWORD),
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

fn is_ready(http: u16, bolt: u16) -> bool {
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
fn package(environment: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(environment.join("lib")).context("the environment has no libraries")? {
        let package = entry?.path().join("site-packages/arcadedb_embedded");
        if package.is_dir() {
            return Ok(package);
        }
    }
    bail!("arcadedb_embedded is not in {}", environment.display())
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port")?;
    Ok(listener.local_addr().context("no free port")?.port())
}
