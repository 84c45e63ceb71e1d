//! The host under test and its files.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

pub(super) struct Host {
    child: Child,
    address: String,
    folder: PathBuf,
    /// Keys of the honest person, and of the other.
    keys: [String; 2],
}

impl Host {
    /// Starts a host with honest and hostile sources, each in its own preset.
    pub(super) fn start(program: &Path, server: &str, gates: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gatehouse-soak-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let skills = folder.join("skills.json");
        fs::write(&skills, deep_skill().to_string()).expect("skills");
        let block = |name: &str, options: &str| {
            format!(
                "[servers.{name}]\ncommand = {server:?}\nargs = [\"stdio\"{options}]\ntimeout = \"10 s\"\n"
            )
        };
        let presets = format!(
            "[auth]\n[host]\ngates = [{gates:?}]\n{}{}{}{}{}[gates.vices]\ngrants = [\"documents\", \"models\"]\nlimits = {{ time = \"5 s\" }}\n\
             [presets.honest]\ngates.echo = {{}}\nservers = [\"steady\"]\n[presets.good]\nservers = [\"good\"]\n\
             [presets.hostile]\ngates.vices = {{}}\nservers = [\"bad\"]\n[presets.deaf]\nservers = [\"deaf\"]\n\
             [presets.documents]\ngates.vices = {{}}\n[presets.skills]\nservers = [\"skilled\"]\n",
            block("steady", ""),
            block("good", ""),
            block("bad", ", \"attacks=yes\""),
            block("deaf", ", \"attacks=yes\""),
            block("skilled", &format!(", \"era=new\", \"skills={}\"", skills.display())),
        );
        fs::write(folder.join("presets.toml"), presets).expect("presets.toml");
        let keys = ["ann", "bob"].map(|name| key(program, &folder, name));
        let mut child = Command::new(program)
            .args(["serve", "--http", "127.0.0.1:0", "--preset", "honest", "--config"])
            .arg(folder.join("presets.toml"))
            .env("GATEHOUSE_STATE", folder.join("state"))
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("start gatehouse");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr")).lines().map_while(Result::ok);
        let mut log = String::new();
        let address = lines.by_ref().find_map(|line| {
            log.push_str(&line);
            log.push('\n');
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split('/').next().unwrap_or(rest).to_owned())
        });
        let address = address.unwrap_or_else(|| panic!("the host does not listen: {log}"));
        // Drain the log: a full pipe would block the host.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, folder, keys }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn honest_key(&self) -> &str {
        &self.keys[0]
    }

    pub(super) fn other_key(&self) -> &str {
        &self.keys[1]
    }

    pub(super) fn memory(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() * 1024
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn key(program: &Path, folder: &Path, name: &str) -> String {
    let output = Command::new(program)
        .args(["keys", "create", name, "--json", "--config"])
        .arg(folder.join("presets.toml"))
        .env("GATEHOUSE_STATE", folder.join("state"))
        .output()
        .expect("a key");
    let key: Value = serde_json::from_slice(&output.stdout).expect("a key as JSON");
    key["token"].as_str().expect("a token").to_owned()
}

/// Returns a skill whose frontmatter is nested too deep to be parsed.
fn deep_skill() -> Value {
    let uri = "skill://deep/SKILL.md";
    let brackets = "[".repeat(60_000);
    json!({
        "skills": [{"uri": uri, "frontmatter": {"name": "deep", "description": "d"}, "resources": "dynamic"}],
        "files": {uri: format!("---\nname: deep\ndescription: d\nx: {brackets}\n---\n")},
    })
}
