//! PostgreSQL servers for tests: a shared server that `cargo xtask test` starts, and servers that a test can stop and
//! break.
//!
//! `GATEHOUSE_TEST_POSTGRES` is the address of the shared server with a user who can create databases.
//! `GATEHOUSE_TEST_PG_BIN` is the directory with `initdb`, `postgres` and pgvector. If only the second is set, each
//! test starts its own server.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::{fs::MetadataExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::support::{copy, missing_service};

const SHARED: &str = "GATEHOUSE_TEST_POSTGRES";
const BIN: &str = "GATEHOUSE_TEST_PG_BIN";

/// The user id of `nobody`. PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

pub(crate) struct Database {
    admin: String,
    pub(crate) name: String,
    /// Server of the database if it belongs to the test.
    pub(crate) server: Option<OwnServer>,
}

impl Database {
    /// Creates an empty database on the shared server, or on a new one.
    pub(crate) async fn fresh() -> Option<Self> {
        if let Ok(admin) = env::var(SHARED) {
            return Some(Self::on(admin, None, "").await);
        }
        let Some(server) = OwnServer::start() else {
            missing_service(&format!("{SHARED} (or {BIN})"));
            return None;
        };
        Some(Self::on(server.url("postgres"), Some(server), "").await)
    }

    pub(crate) async fn breakable() -> Option<Self> {
        let Some(server) = OwnServer::start() else {
            missing_service(BIN);
            return None;
        };
        Some(Self::on(server.url("postgres"), Some(server), "").await)
    }

    /// Creates another database on the same server, with options of `CREATE DATABASE`.
    pub(crate) async fn beside(&self, options: &str) -> Self {
        Self::on(self.admin.clone(), None, options).await
    }

    async fn on(admin: String, server: Option<OwnServer>, options: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("gh_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        connect(&admin).await.batch_execute(&format!("CREATE DATABASE {name} {options}")).await.unwrap();
        Self { admin, name, server }
    }

    pub(crate) fn url(&self) -> String {
        let (place, _) = self.admin.rsplit_once('/').unwrap();
        format!("{place}/{}", self.name)
    }

    /// Returns the address by way of a proxy.
    pub(crate) fn url_at(&self, port: u16) -> String {
        format!("postgres://gatehouse@127.0.0.1:{port}/{}", self.name)
    }

    pub(crate) fn address(&self) -> String {
        let url = self.url();
        url.rsplit_once('@').unwrap().1.to_owned()
    }

    pub(crate) async fn connect(&self) -> Client {
        connect(&self.url()).await
    }

    pub(crate) async fn run(&self, sql: &str) {
        self.connect().await.batch_execute(sql).await.unwrap();
    }

    pub(crate) async fn number(&self, sql: &str) -> i64 {
        self.connect().await.query_one(sql, &[]).await.unwrap().get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.server.is_some() {
            // Deleted with its server.
            return;
        }
        let (admin, name) = (self.admin.clone(), self.name.clone());
        // Use a new runtime, because the current one may be shutting down.
        let work = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let client = connect(&admin).await;
                client.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
            });
        });
        assert!(work.join().is_ok() || std::thread::panicking(), "the test's database could not be dropped");
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) struct OwnServer {
    dir: TempDir,
    bin: PathBuf,
    pub(crate) port: u16,
    process: Option<Child>,
}

impl OwnServer {
    /// Starts a server. `None` if the programs are missing.
    fn start() -> Option<Self> {
        let bin = PathBuf::from(env::var_os(BIN)?);
        let dir = tempfile::Builder::new().prefix("gh-pg").tempdir().unwrap();
        open_up(dir.path());
        copy(&template(&bin), &dir.path().join("data"));
        fs::set_permissions(dir.path().join("data"), std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        if is_root() {
            own(&dir.path().join("data"));
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Self { dir, bin, port, process: None };
        server.run();
        Some(server)
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://gatehouse@127.0.0.1:{}/{database}", self.port)
    }

    /// Sets the authentication rules for new connections.
    pub(crate) fn hba(&self, lines: &str) {
        fs::write(self.dir.path().join("data/pg_hba.conf"), lines).unwrap();
        self.signal(rustix::process::Signal::HUP);
    }

    pub(crate) fn run(&mut self) {
        assert!(self.process.is_none());
        let mut command = as_nobody(&self.bin.join("postgres"));
        let data = self.dir.path().join("data");
        command.arg("-D").arg(data).args(["-p", &self.port.to_string(), "-h", "127.0.0.1"]);
        for setting in
            ["unix_socket_directories=", "fsync=off", "full_page_writes=off", "shared_buffers=16MB"]
        {
            command.args(["-c", setting]);
        }
        let mut process = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let mut seen = Vec::new();
        let ready = log.by_ref().any(|line| {
            let ready = line.contains("ready to accept connections");
            seen.push(line);
            ready
        });
        assert!(ready, "the server did not start: {seen:?}");
        // Drain the log, because a full pipe would block the server.
        std::thread::spawn(move || log.for_each(drop));
        self.process = Some(process);
    }

    /// Stops the server without cleanup, like a crash.
    pub(crate) fn crash(&mut self) {
        self.signal(rustix::process::Signal::QUIT);
        self.process.take().unwrap().wait().unwrap();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(self.process.as_ref().unwrap());
        rustix::process::kill_process(pid, signal).unwrap();
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.crash();
        }
    }
}

/// Returns a data directory from `initdb`, made once. Copying it is ten times faster.
fn template(bin: &Path) -> PathBuf {
    let name = bin.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let template = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pg{name}"));
    if !template.is_dir() {
        let dir = tempfile::Builder::new().prefix("gh-pg").tempdir().unwrap();
        open_up(dir.path());
        if is_root() {
            own(dir.path());
        }
        let fresh = dir.path().join("data");
        let mut command = as_nobody(&bin.join("initdb"));
        command.arg("-D").arg(&fresh).args([
            "-U",
            "gatehouse",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ]);
        command.args(["--no-sync", "--wal-segsize=1"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "initdb: {}", String::from_utf8_lossy(&output.stderr));
        let aside = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        copy(&fresh, &aside.path().join("data"));
        // If two tests race, the first one wins.
        let _ = fs::rename(aside.path().join("data"), &template);
    }
    template
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}

fn as_nobody(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).current_dir("/");
    if is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Lets other users pass through the directory.
fn open_up(dir: &Path) {
    fs::set_permissions(dir, std::os::unix::fs::PermissionsExt::from_mode(0o711)).unwrap();
}

fn own(path: &Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            own(&entry.unwrap().path());
        }
    }
}
