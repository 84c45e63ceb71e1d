//! Servers to measure: the native one, and gateways with their own files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::http_server::HttpBenchServer;
use super::server::BenchServer;
use crate::gates::FIXTURES;
use crate::process;
use crate::workspace::Workspace;

/// Access rules of the gateway for a team.
const RULES: usize = 200;

pub(crate) struct Bench {
    /// True for a fifth of the rounds.
    pub(crate) quick: bool,
    /// True if the native server replaces the gateway.
    pub(crate) noise: bool,
    /// True to measure a build from an empty directory, which takes minutes.
    pub(crate) from_nothing: bool,
    /// The native server.
    pub(crate) floor: PathBuf,
    pub(crate) gatehouse: PathBuf,
    gate: PathBuf,
    /// Working directory, cleared at the start of every run.
    pub(crate) folder: PathBuf,
    pub(crate) root: PathBuf,
}

/// A gateway's files: gates with different bytes and tool names, a preset and a state directory.
pub(crate) struct Gateway {
    folder: PathBuf,
    pub(crate) echo: Vec<String>,
    pub(crate) big: String,
    pub(crate) tools: usize,
}

impl Bench {
    pub(crate) fn new(workspace: &Workspace, quick: bool, noise: bool) -> Result<Self> {
        let folder = workspace.root.join("target/bench");
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            quick,
            noise,
            from_nothing: false,
            floor: workspace.binary("release", "bench-floor"),
            gatehouse: workspace.binary("release", "gatehouse"),
            gate: workspace.root.join(FIXTURES).join("echo.wasm"),
            folder,
            root: workspace.root.clone(),
        })
    }

    /// Returns the number of repetitions: `full`, or a fifth of it with `--quick`.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(5) } else { full }
    }

    /// Measures this build, if one is given.
    pub(crate) fn with_binary(self, binary: Option<PathBuf>) -> Self {
        let gatehouse = binary.unwrap_or_else(|| self.gatehouse.clone());
        Self { gatehouse, ..self }
    }

    pub(crate) fn gateway(&self, gates: usize) -> Result<Gateway> {
        let name = format!("{gates}-gates");
        if self.noise {
            let folder = self.folder.join(name);
            fs::create_dir_all(&folder)?;
            return Ok(Gateway { folder, echo: vec!["echo".into()], big: "big".into(), tools: 2 });
        }
        let bytes = fs::read(&self.gate).with_context(|| format!("cannot read {}", self.gate.display()))?;
        let gate_line = |number| format!("gates.g{number:02} = {{ prefix = \"a{number:02}_\" }}\n");
        let gate_lines: String = (1..=gates).map(gate_line).collect();
        let files = self.files(name, &[], &format!("[presets.bench]\n{gate_lines}"))?;
        for number in 1..=gates {
            fs::write(files.folder.join(format!("gates/g{number:02}.wasm")), distinct(&bytes, number))?;
        }
        let echo = (1..=gates).map(|number| format!("a{number:02}_echo")).collect();
        Ok(Gateway { echo, big: "a01_big".into(), tools: 2 * gates, ..files })
    }

    /// Makes the files of a gateway with copies of built gates. The settings follow those of the host.
    pub(crate) fn files(&self, name: impl AsRef<Path>, gates: &[&str], settings: &str) -> Result<Gateway> {
        let folder = self.folder.join(name);
        let gate_folder = folder.join("gates");
        fs::create_dir_all(&gate_folder)
            .with_context(|| format!("cannot create {}", gate_folder.display()))?;
        for name in gates {
            let file = self.root.join(format!("gates/{name}.wasm"));
            fs::copy(&file, gate_folder.join(format!("{name}.wasm")))
                .with_context(|| format!("cannot copy {}", file.display()))?;
        }
        let quoted_folder = serde_json::to_string(&gate_folder)?;
        let presets = format!("[host]\ngates = [{quoted_folder}]\ndefault_preset = \"bench\"\n\n{settings}");
        fs::write(folder.join("presets.toml"), presets)?;
        Ok(Gateway { folder, echo: Vec::new(), big: String::new(), tools: 0 })
    }

    /// Makes the files of a gateway with the knowledge graph, and returns it with the directory of its wiki.
    /// `place` is `files`, or else that of a server.
    pub(crate) fn knowledge(&self, pages: usize, place: &str) -> Result<(Gateway, PathBuf)> {
        let name = format!("{pages}-pages-{}", place.replace(' ', "-"));
        let engine = if place == "files" { "sqlite" } else { "postgres" };
        let wiki = self.folder.join(&name).join("wiki");
        fs::create_dir_all(&wiki).with_context(|| format!("cannot create {}", wiki.display()))?;
        let settings = format!(
            "[knowledge]\nengine = \"{engine}\"\nwiki_roots = [{}]\n\n[gates.kg]\ngrants = [\"knowledge\"]\n\n\
             [gates.idea]\ngrants = [\"knowledge:read\"]\n\n\
             [gates.code]\ngrants = [\"knowledge:read\"]\n\n\
             [presets.bench]\nstructured = true\ngates.kg = {{}}\ngates.idea = {{}}\ngates.code = {{}}\n",
            serde_json::to_string(&wiki)?
        );
        Ok((self.files(name, &["kg", "idea", "code"], &settings)?, wiki))
    }

    /// Makes the files of a gateway with the gate `document-retrieval`, and returns it with the directory of its
    /// documents. `documents` only names the directory.
    pub(crate) fn documents(&self, documents: usize) -> Result<(Gateway, PathBuf)> {
        let name = format!("{documents}-documents");
        let corpus = self.folder.join(&name).join("corpus");
        fs::create_dir_all(&corpus).with_context(|| format!("cannot create {}", corpus.display()))?;
        let settings = "[gates.document-retrieval]\ngrants = [\"documents\"]\n\n\
             [presets.bench]\nstructured = true\ngates.document-retrieval = {}\n";
        Ok((self.files(name, &["document-retrieval"], settings)?, corpus))
    }

    /// Makes the files of a gateway before the native server, with a rule for approvals that matches no call.
    pub(crate) fn before_floor(&self) -> Result<Gateway> {
        let settings = format!(
            "[servers.floor]\ncommand = {}\n\n\
             [gates.proxy]\ngrants = [\"servers\"]\n\n[presets.bench]\ngates.proxy = {{}}\nservers = [\"floor\"]\n\
             approve = {{ tools = [\"floor__write_*\"] }}\n",
            serde_json::to_string(&self.floor)?
        );
        self.files("before-floor", &["proxy"], &settings)
    }

    /// Makes the files of a gateway before the native server over HTTP.
    pub(crate) fn before_http_floor(&self, floor: &HttpBenchServer, version: &str) -> Result<Gateway> {
        let settings =
            format!("[servers.floor]\nurl = {:?}\n\n[presets.bench]\nservers = [\"floor\"]\n", floor.url());
        self.files(format!("before-http-floor-{version}"), &[], &settings)
    }

    pub(crate) fn with_script(&self) -> Result<Gateway> {
        let plain = self.gateway(1)?;
        let settings = "[gates.script]\ngrants = [\"catalog\"]\n\n\
             [presets.bench]\ngates.g01 = { prefix = \"a01_\" }\ngates.script = {}\n";
        let gateway = self.files("script", &["script"], settings)?;
        let gate = "gates/g01.wasm";
        fs::copy(plain.folder.join(gate), gateway.folder.join(gate))?;
        Ok(gateway)
    }

    pub(crate) fn run_gatehouse(&self, gateway: &Gateway, arguments: &[&str]) -> Result<()> {
        let mut command = self.gateway_command(gateway);
        command.args(arguments).arg("--config").arg(gateway.folder.join("presets.toml"));
        process::run(&mut command)
    }

    fn gateway_command(&self, gateway: &Gateway) -> Command {
        let mut command = self.clean(&self.gatehouse);
        command.env("GATEHOUSE_STATE", gateway.state()).env("XDG_CACHE_HOME", gateway.state());
        command
    }

    pub(crate) fn start(&self, gateway: &Gateway) -> Result<BenchServer> {
        self.start_with(gateway, None)
    }

    /// Starts a gateway with a variable of its environment.
    pub(crate) fn start_with(
        &self,
        gateway: &Gateway,
        variable: Option<(&str, &str)>,
    ) -> Result<BenchServer> {
        if self.noise {
            return self.start_floor();
        }
        let mut command = self.gateway_command(gateway);
        command.arg("serve").arg("--config");
        command.arg(gateway.folder.join("presets.toml")).args(["--preset", "bench"]).envs(variable);
        BenchServer::start(command, gateway.folder.join("stderr.log"))
    }

    /// Starts a gateway that serves HTTP.
    pub(crate) fn serve(&self, gateway: &Gateway, variables: &[(&str, &str)]) -> Result<HttpBenchServer> {
        if self.noise {
            return self.serve_floor();
        }
        let mut command = self.gateway_command(gateway);
        command.args(["serve", "--http", "127.0.0.1:0", "--preset", "bench", "--config"]);
        command.arg(gateway.folder.join("presets.toml")).envs(variables.iter().copied());
        HttpBenchServer::start(command, &gateway.folder.join("stderr.log"))
    }

    pub(crate) fn serve_floor(&self) -> Result<HttpBenchServer> {
        self.serve_floor_of(None)
    }

    /// Starts the native server over HTTP. With a `version`, it supports only that one.
    pub(crate) fn serve_floor_of(&self, version: Option<&str>) -> Result<HttpBenchServer> {
        let mut command = self.clean(&self.floor);
        command.arg("--http").args(version);
        HttpBenchServer::start(command, &self.folder.join("floor.log"))
    }

    /// Makes the files of a gateway for a team: one gate, 200 access rules of which the last allows its tools, and a
    /// quota. With `[auth]`, the audit is on.
    pub(crate) fn team_gateway(&self) -> Result<Gateway> {
        let alone = self.gateway(1)?;
        let folder = self.folder.join("team");
        fs::create_dir_all(&folder)?;
        let mut presets = fs::read_to_string(alone.folder.join("presets.toml"))?;
        presets.push_str("\n[auth]\n\n[quotas.team]\nwho = [\"*\"]\ncalls = \"1000000000 per day\"\n");
        for number in 1..RULES {
            presets
                .push_str(&format!("\n[[access]]\nwho = [\"group:g{number}\"]\ntools = [\"t{number}_*\"]\n"));
        }
        presets.push_str("\n[[access]]\nwho = [\"group:team\"]\ntools = [\"a01_*\"]\n");
        fs::write(folder.join("presets.toml"), presets)?;
        Ok(Gateway { folder, ..alone })
    }

    /// Creates an API key, and returns it.
    pub(crate) fn create_key(&self, gateway: &Gateway, arguments: &[&str]) -> Result<String> {
        let mut command = self.gateway_command(gateway);
        command.args(["keys", "create"]).args(arguments).arg("--config");
        command.arg(gateway.folder.join("presets.toml"));
        Ok(process::output(&mut command)?.trim().to_owned())
    }

    pub(crate) fn start_floor(&self) -> Result<BenchServer> {
        BenchServer::start(self.clean(&self.floor), self.folder.join("floor.log"))
    }

    /// Returns a command that sees no settings of the user.
    pub(crate) fn clean(&self, program: &Path) -> Command {
        let mut command = process::command(program);
        command.env_clear().env("HOME", &self.folder).current_dir(&self.folder);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }
}

impl Gateway {
    /// Replaces the first gate with a version in which `new` replaces `old`. Both texts have the same length.
    pub(crate) fn replace(&self, bench: &Bench, old: &str, new: &str) -> Result<()> {
        let mut bytes =
            fs::read(&bench.gate).with_context(|| format!("cannot read {}", bench.gate.display()))?;
        let at = bytes.windows(old.len()).position(|window| window == old.as_bytes());
        let at = at.with_context(|| format!("the gate does not contain '{old}'"))?;
        bytes[at..at + old.len()].copy_from_slice(new.as_bytes());
        crate::gates::place(&self.folder.join("gates/g01.wasm"), &bytes).map(drop)
    }

    pub(crate) fn forget(&self) -> Result<()> {
        match fs::remove_dir_all(self.state()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }
}

/// Appends a custom section to a component: another digest, the same behavior.
fn distinct(component: &[u8], number: usize) -> Vec<u8> {
    let name = b"bench";
    let number = format!("{number:03}");
    let mut bytes = component.to_vec();
    bytes.extend([0, (1 + name.len() + number.len()) as u8, name.len() as u8]);
    bytes.extend(name);
    bytes.extend(number.as_bytes());
    bytes
}
