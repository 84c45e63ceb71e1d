//! A real registry for one test: Debian's `docker-registry` on a free port.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use tempfile::TempDir;

pub(super) struct Registry {
    child: Child,
    /// `127.0.0.1:port`
    pub(super) address: String,
    _folder: TempDir,
}

impl Registry {
    /// Starts a registry with additional configuration. `None`, with a message, if it is not installed.
    pub(super) fn start(more: &str) -> Option<Self> {
        let program = program()?;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().join("data");
        let config = format!(
            "version: 0.1\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n{}",
            data.display(),
            more.replace("FOLDER", &folder.path().display().to_string())
        );
        std::fs::write(folder.path().join("registry.yml"), config).expect("write a file");
        std::fs::write(folder.path().join("htpasswd"), HTPASSWD).expect("write a file");
        let mut child = Command::new(program)
            .arg("serve")
            .arg(folder.path().join("registry.yml"))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("start docker-registry");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr"));
        let mut log = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(stderr.read_line(&mut line).expect("read stderr") > 0, "it ended: {log}");
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split('"').next().expect("an address").to_owned();
            }
            log.push_str(&line);
        };
        // Drain the pipe, or the registry would block on it.
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).for_each(drop));
        Some(Self { child, address, _folder: folder })
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// User `ali`, password `sesame`, as bcrypt, which the registry requires.
const HTPASSWD: &str = "ali:$2b$04$qNLCzy0G3qIpyaHlZwy9V.VojoO6m968CptRfskRxJ.99p9rZwamW\n";

fn program() -> Option<PathBuf> {
    let named = env::var_os("GATEHOUSE_TEST_REGISTRY").map(PathBuf::from);
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut on_path = env::split_paths(&folders).map(|folder| folder.join("docker-registry"));
    let found = named.or_else(|| on_path.find(|path: &PathBuf| Path::exists(path)));
    if found.is_none() {
        let how = "`apt-get install docker-registry`, or run `cargo xtask test`, which fetches it";
        assert!(
            env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(),
            "docker-registry is not here, and services are required: {how}"
        );
        eprintln!("SKIPPED: docker-registry is not here: {how}");
    }
    found
}
