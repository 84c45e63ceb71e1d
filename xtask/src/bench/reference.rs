//! The eight MCP reference servers, alone and behind a gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::server::BenchServer;
use super::setup::{Bench, Gateway};
use crate::process;
use crate::tools;

struct ReferenceServer {
    name: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    variable: Option<(&'static str, String)>,
}

pub(crate) struct ReferenceServers {
    servers: Vec<ReferenceServer>,
    folder: PathBuf,
}

impl ReferenceServers {
    /// Installs missing servers and creates the files that they work on.
    pub(crate) fn new(bench: &Bench) -> Result<Self> {
        let folder = bench.folder.join("reference");
        let at = |name: &str| folder.join(name).display().to_string();
        fs::create_dir_all(folder.join("files"))
            .with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(folder.join("files/note.txt"), "There are 42 apples.\n")?;
        repository(&folder.join("repository"))?;
        let node = tools::NODE_CLIENTS.node()?;
        let scripts = tools::NODE_SERVERS.ensure()?.join("node_modules/@modelcontextprotocol");
        let script = |name: &str| scripts.join(name).join("dist/index.js").display().to_string();
        let python = tools::PYTHON_SERVERS.programs()?;
        let old = tools::OLD_PYTHON_SERVERS.programs()?;
        let server = |name, program: &Path, arguments: &[String]| ReferenceServer {
            name,
            program: program.into(),
            arguments: arguments.to_vec(),
            variable: None,
        };
        let mut memory = server("memory", &node, &[script("server-memory")]);
        memory.variable = Some(("MEMORY_FILE_PATH", at("memory.json")));
        let servers = vec![
            server("everything", &node, &[script("server-everything"), "stdio".into()]),
            server("filesystem", &node, &[script("server-filesystem"), at("files")]),
            memory,
            server("thinking", &node, &[script("server-sequential-thinking")]),
            server("git", &python.join("mcp-server-git"), &["--repository".into(), at("repository")]),
            server("time", &python.join("mcp-server-time"), &["--local-timezone".into(), "UTC".into()]),
            server("fetch", &python.join("mcp-server-fetch"), &[]),
            server("sqlite", &old.join("mcp-server-sqlite"), &["--db-path".into(), at("data.db")]),
        ];
        Ok(Self { servers, folder })
    }

    pub(crate) fn len(&self) -> usize {
        self.servers.len()
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.servers.iter().map(|server| server.name).collect()
    }

    pub(crate) fn commit(&self, file: &str, text: &str, message: &str) -> Result<()> {
        let folder = self.folder.join("repository");
        fs::write(folder.join(file), text)?;
        git(&folder, &["add", file])?;
        git(&folder, &["commit", "--quiet", "-m", message])
    }

    /// Starts each server alone, as a client without a gateway does.
    pub(crate) fn start_each(&self, bench: &Bench) -> Result<Vec<BenchServer>> {
        let start = |server: &ReferenceServer| {
            let mut command: Command = bench.clean(&server.program);
            command.args(&server.arguments);
            if let Some((name, value)) = &server.variable {
                command.env(name, value);
            }
            BenchServer::start(command, self.folder.join(format!("{}.log", server.name))).context(server.name)
        };
        self.servers.iter().map(start).collect()
    }

    pub(crate) fn gateway(&self, bench: &Bench, gates: &[&str]) -> Result<Gateway> {
        let mut text = "[gates.proxy]\ngrants = [\"servers\"]\n\n[gates.script]\ngrants = [\"catalog\"]\n\n\
             [presets.bench]\n"
            .to_owned();
        for gate in gates {
            let parameters = if *gate == "script" { "{ may = \"execute\" }" } else { "{}" };
            text += &format!("gates.{gate} = {parameters}\n");
        }
        for ReferenceServer { name, program, arguments, variable } in &self.servers {
            text +=
                &format!("\n[servers.{name}]\ncommand = {}\nargs = {}\n", json!(program), json!(arguments));
            if let Some((name, value)) = variable {
                text += &format!("env = {{ {name} = {} }}\n", json!(value));
            }
        }
        bench.files(gates.join("-and-"), gates, &text)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn repository(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    git(folder, &["init", "--quiet"])?;
    git(folder, &["commit", "--quiet", "--allow-empty", "-m", "A first step"])
}

fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    process::run(process::command("git").args(identity).args(arguments).current_dir(folder))
}
