//! The machine of a reader: a home with the files that the pages mention, clients, servers, and what the reader does
//! between two commands.

use std::{
    env, fs,
    net::TcpListener,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::steps::{BEFORE, CONFIGURATIONS};
use crate::{
    documentation::all_fences,
    support::{
        Place, binary, installed,
        place::{built, copy_folder},
        repository,
    },
};

/// Address that the pages serve on, and that of the database server that they name.
const LISTEN: &str = "127.0.0.1:8642";
const DATABASE: &str = "db.example:5432";

/// Databases that the page about PostgreSQL creates.
const DATABASES: [&str; 2] = ["wiki", "library"];

/// Server with three tools without hints.
const NOTES_SERVER: &str = r#"#!/usr/bin/env python3
import json, sys
tools = [{"name": name, "description": about, "inputSchema": {"type": "object"}} for name, about in
         [("find_note", "Find a note."), ("list_notes", "List all notes."), ("add_note", "Add a note.")]]
info = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
results = {"initialize": info, "tools/list": {"tools": tools}, "ping": {}}
for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        method = request["method"]
        reply = {"result": results[method]} if method in results else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)
"#;

pub(super) struct ReaderHome {
    page: String,
    /// What is left of [`BEFORE`].
    scripts: Vec<(&'static str, &'static str, &'static str)>,
    place: Place,
    path: String,
    listen: String,
    /// Address of the database server, and variables with which its programs find it.
    database: String,
    postgres: Vec<(&'static str, String)>,
}

impl ReaderHome {
    /// Returns `None` if what the pages need is not installed.
    pub(super) fn create(page: &str) -> Option<Self> {
        let agents = installed("GATEHOUSE_TEST_AGENTS")?;
        let folders = [
            agents.join("node_modules/.bin"),
            installed("GATEHOUSE_TEST_NODE_SERVERS")?.join(".bin"),
            installed("GATEHOUSE_TEST_PYTHON_SERVERS")?,
            installed("GATEHOUSE_TEST_PG_BIN")?,
            installed("GATEHOUSE_TEST_NODE")?.parent()?.to_path_buf(),
        ];
        let venv = installed("GATEHOUSE_TEST_VENV")?;
        let url = installed("GATEHOUSE_TEST_POSTGRES")?;
        let place = Place::with("", &[]);
        fs::remove_file(place.path("presets.toml")).expect("removed");
        copy_folder(&repository().join("docs"), &place.path("docs"));
        copy_folder(&repository().join("docs/sample-wiki"), &place.path("src/handbook"));
        if page == "docs/documents.md" {
            symlink(crate_sources("tokio-1.54.1"), place.path("src/tokio-1.54.1")).expect("a link");
        }
        place.write("files/notes.txt", "Water the basil.\n");
        for (name, text) in CONFIGURATIONS {
            place.write(&format!("fences/{name}.toml"), text);
        }
        fs::create_dir_all(place.path(".config/gatehouse/skills")).expect("a folder");
        place.write("echo.wasm", built("echo"));
        place.write(".claude.json", client_servers(page, &place).to_string());
        place.program("notes-mcp", NOTES_SERVER);
        // Its packages are installed.
        place.program("uvx", "#!/bin/sh\nexec \"$@\"\n");
        let claude = agents.join("node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs");
        place.program("claude", &format!("#!/bin/sh\nexec node {} \"$@\"\n", claude.display()));
        let python = which("python3");
        place.program(
            "python3",
            &format!(
                "#!/bin/sh\n[ \"$1 $2\" = \"-m venv\" ] && exec ln -s {} \"$3\"\nexec {} \"$@\"\n",
                venv.display(),
                python.display()
            ),
        );
        symlink(binary(), place.path(".cargo/bin/gatehouse")).expect("a link");
        Self::write_fences(&place, page);
        let mut path = place.path(".cargo/bin").display().to_string();
        for folder in folders {
            path += &format!(":{}", folder.display());
        }
        path += &format!(":{}", env::var("PATH").expect("a path"));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let listen = listener.local_addr().expect("an address").to_string();
        let (database, postgres) = postgres_variables(&url.display().to_string());
        Some(Self {
            page: page.to_owned(),
            scripts: BEFORE.to_vec(),
            place,
            path,
            listen,
            database,
            postgres,
        })
    }

    fn write_fences(place: &Place, page: &str) {
        let fences = all_fences().into_iter().filter(|fence| fence.place.starts_with(&format!("{page}:")));
        for (index, fence) in fences.filter(|fence| fence.info == "toml").enumerate() {
            place.write(&format!("fences/{}.toml", index + 1), fence.text);
        }
    }

    /// Runs commands in one shell. Returns the exit status and the output of each.
    pub(super) fn run(&mut self, commands: &[&str]) -> Vec<(i32, String)> {
        let out = self.place.path("out");
        fs::create_dir(&out).expect("a folder");
        let mut script = self.before("");
        for (index, command) in commands.iter().enumerate() {
            script += &self.before(command);
            let (log, status) = (out.join(index.to_string()), out.join(format!("{index}.status")));
            let (log, status) = (log.display(), status.display());
            let is_server = command.contains("gatehouse serve --") && command.contains("--http 127");
            script += &if is_server {
                // The pages' next commands use the host.
                format!(
                    "{{\n{command}\n}} >{log} 2>&1 </dev/null &\necho $! >{status}.pid\n\
                         curl -fsS --retry 50 --retry-connrefused --retry-delay 1 http://{LISTEN}/healthz >>{log} 2>&1\n\
                         echo $? >{status}\n"
                )
            } else {
                format!("{{\n{command}\n}} >{log} 2>&1 </dev/null\necho $? >{status}\n")
            };
        }
        if self.page == "docs/postgresql.md" {
            script += "dropdb wiki; dropdb library\n";
        }
        // Ends the hosts, and this shell.
        script += "kill -KILL 0\n";
        let unused = self.scripts.iter().find(|(page, ..)| *page == self.page);
        assert!(unused.is_none(), "no command of the page begins like this one: {unused:?}");
        let home = self.place.folder.path();
        let script = self.with_own_databases(script);
        let script = script.replace(LISTEN, &self.listen).replace(DATABASE, &self.database);
        let script = script.replace("/home/me", &home.display().to_string());
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .current_dir(home)
            .env_clear()
            .env("HOME", home)
            .env("PATH", &self.path)
            .env("FENCES", self.place.path("fences"))
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .envs(self.postgres.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .process_group(0);
        let ran = shell.output().expect("a shell");
        let read = |index: usize| {
            let output = fs::read(out.join(index.to_string())).unwrap_or_default();
            let status = fs::read_to_string(out.join(format!("{index}.status"))).unwrap_or_default();
            let status = status.trim().parse().unwrap_or(-1);
            (status, self.as_on_the_page(&String::from_utf8_lossy(&output)))
        };
        let results: Vec<(i32, String)> = (0..commands.len()).map(read).collect();
        if results.iter().any(|(status, _)| *status != 0) {
            eprintln!("{}", String::from_utf8_lossy(&ran.stderr));
        }
        results
    }

    /// Returns the next script before a command, or before all commands for an empty text. Each counts once.
    fn before(&mut self, command: &str) -> String {
        let is_next = |(page, start, _): &(&str, &str, &str)| {
            *page == self.page && command.starts_with(start) && start.is_empty() == command.is_empty()
        };
        let next = self.scripts.iter().position(is_next).map(|index| self.scripts.remove(index));
        next.filter(|(.., script)| !script.is_empty())
            .map_or_else(String::new, |(.., script)| format!("{{\n{script}\n}} >&2\n"))
    }

    /// Replaces the databases of the page about PostgreSQL: a shared server can have some of their names.
    fn with_own_databases(&self, mut script: String) -> String {
        if self.page == "docs/postgresql.md" {
            for name in DATABASES {
                let own_name = format!("{}{name}", own_database_prefix());
                script = script.replace(&format!("/{name}"), &format!("/{own_name}"));
                script = script.replace(&format!(" {name}"), &format!(" {own_name}"));
            }
        }
        script
    }

    /// Replaces paths and addresses of the test by those of the pages.
    fn as_on_the_page(&self, output: &str) -> String {
        let program = binary().canonicalize().expect("a path").display().to_string();
        let home = self.place.folder.path().display().to_string();
        output
            .replace(&program, "/home/me/.cargo/bin/gatehouse")
            .replace(&home, "/home/me")
            .replace(&self.listen, LISTEN)
            .replace(&self.database, DATABASE)
            .replace(&own_database_prefix(), "")
    }
}

fn own_database_prefix() -> String {
    format!("gatehouse_docs_{}_", std::process::id())
}

impl Place {
    fn program(&self, name: &str, text: &str) {
        let path = self.write(&format!(".cargo/bin/{name}"), text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a program");
    }
}

/// Returns the configuration of the client that a page's reader has.
fn client_servers(page: &str, place: &Place) -> Value {
    let files = json!({"command": "mcp-server-filesystem", "args": [place.path("files")]});
    if page == "docs/one-server.md" {
        let everything = json!({"command": "mcp-server-everything", "args": ["stdio"]});
        return json!({"mcpServers": {"files": files, "memory": {"command": "mcp-server-memory"}, "everything": everything}});
    }
    let token = "Bearer 5f4dcc3b5aa765d61d8327deb882cf99";
    let docs =
        json!({"type": "http", "url": "https://docs.example.com/mcp", "headers": {"Authorization": token}});
    json!({"mcpServers": {"files": files, "docs": docs}})
}

/// Returns the folder with the sources of a crate, as in a reader's checkout.
fn crate_sources(name: &str) -> PathBuf {
    let cargo = env::var_os("CARGO_HOME")
        .map_or_else(|| PathBuf::from(env::var_os("HOME").expect("a home")).join(".cargo"), PathBuf::from);
    let registries = fs::read_dir(cargo.join("registry/src")).expect("sources of crates").flatten();
    let mut folders = registries.map(|registry| registry.path().join(name));
    folders.find(|folder| folder.exists()).unwrap_or_else(|| {
        panic!(
            "the sources of {name} are not in cargo's registry; show the version of Cargo.lock on the page"
        )
    })
}

fn which(name: &str) -> PathBuf {
    let path = env::var_os("PATH").expect("a path");
    let mut candidates = env::split_paths(&path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.exists()).unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

/// Splits `postgres://user:password@host:port/…` into `host:port` and the variables of PostgreSQL's programs.
fn postgres_variables(url: &str) -> (String, Vec<(&'static str, String)>) {
    let (user, rest) = url.trim_start_matches("postgres://").split_once('@').expect("a user");
    let address = rest.split('/').next().expect("an address");
    let (host, port) = address.split_once(':').expect("a port");
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let variables = [("PGHOST", host), ("PGPORT", port), ("PGUSER", name), ("PGPASSWORD", password)];
    (address.to_owned(), variables.map(|(name, value)| (name, value.to_owned())).into())
}
