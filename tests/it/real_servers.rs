//! Eighteen servers of npm and PyPI as users configure them, with `npx -y` and `uvx` and empty caches. Imported from
//! Claude Code's file, they appear in a running client, work, and are the same as without Gatehouse.

mod compared;
mod started;

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    reference_servers::{ASKED, repository},
    support::{Client, Place, Ran, installed},
};

const LIMIT: Duration = Duration::from_secs(300);

/// Servers besides the reference servers, with a call and part of its reply. Without arguments, the call would need the
/// network and is left out.
const OTHERS: [(&str, &str, &str, &str); 10] = [
    ("calculator", "calculate", r#"{"expression": "6 * 7"}"#, "42"),
    ("budget", "get-budget-data", "{}", "ategories"),
    ("clock", "get-time", "{}", "T"),
    ("playwright", "browser_resize", r#"{"width": 100, "height": 100}"#, "text"),
    ("excel", "list_workbooks", "{}", "must be a non-empty"),
    ("github", "create_issue", "", ""),
    ("notion", "API-get-self", "", ""),
    ("brave", "brave_web_search", "", ""),
    ("wikipedia", "get_article", "", ""),
    ("duckduckgo", "search", "", ""),
];

const NETWORK: [&str; 10] = [
    "SSL_CERT_",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "NPM_CONFIG_",
    "UV_",
    "PIP_",
];

/// Starts commands that find the package runners, and whose servers have empty caches.
struct Host {
    place: Place,
    path: std::ffi::OsString,
}

impl Host {
    /// `None` if the servers, a package runner or Node is not installed.
    fn new() -> Option<Self> {
        let config = installed("GATEHOUSE_TEST_REAL_SERVERS")?;
        let (node, uv) = (installed("GATEHOUSE_TEST_NODE")?, installed("GATEHOUSE_TEST_PACKAGE_TOOLS")?);
        let place = Place::shipped();
        let config = std::fs::read_to_string(config).expect("the servers");
        let folder = place.path("").display().to_string();
        place.write(".claude.json", config.replace("{place}", folder.trim_end_matches('/')));
        place.write("files/note.txt", "There are 42 apples.\n");
        repository(&place);
        let system = env::var_os("PATH").unwrap_or_default();
        let folders = [uv, node.parent().map(Path::to_path_buf).expect("a folder")].into_iter();
        let path = env::join_paths(folders.chain(env::split_paths(&system))).expect("a path");
        Some(Self { place, path })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.with_network(self.place.command(arguments))
    }

    /// Starts a server itself, as its client would.
    fn raw(&self, server: &str) -> Client {
        let config = std::fs::read_to_string(self.place.path(".claude.json")).expect("the servers");
        let server = serde_json::from_str::<Value>(&config).expect("JSON")["mcpServers"][server].clone();
        let texts = |value: &Value| -> Vec<String> {
            let all = value.as_array().expect("a list").iter();
            all.map(|text| text.as_str().expect("a text").to_owned()).collect()
        };
        let mut command = Command::new(server["command"].as_str().expect("a command"));
        command.args(texts(&server["args"])).current_dir(self.place.path(""));
        let environment = server["env"].as_object().into_iter().flatten();
        command.envs(environment.map(|(name, value)| (name, value.as_str().unwrap_or_default())));
        Client::spawn(self.with_network(command))
    }

    fn with_network(&self, mut command: Command) -> Command {
        let is_network =
            |name: &str| NETWORK.iter().any(|start| name.to_ascii_uppercase().starts_with(start));
        command.envs(env::vars().filter(|(name, _)| is_network(name)));
        let cache = |name: &str| -> PathBuf { self.place.path(name) };
        command
            .env("npm_config_cache", cache("npm"))
            .env("UV_CACHE_DIR", cache("uv"))
            .env("PATH", &self.path);
        command
    }
}

#[test]
fn servers_of_claude_code_appear_and_work_though_their_caches_are_empty() {
    let Some(host) = Host::new() else { return };
    let reference =
        ASKED.iter().map(|(server, _, tool, arguments, needle)| (*server, *tool, *arguments, *needle));
    let expected: Vec<_> = reference.chain(OTHERS).collect();
    let import = host.command(&["servers", "import", "--from", "claude-code", "--write"]).output();
    let import = Ran(import.expect("run gatehouse"));
    assert_eq!(import.code(), 0, "{}", import.stderr());
    let presets = host.place.path("presets.toml");
    let text = std::fs::read_to_string(&presets).expect("presets.toml");
    let names: Vec<_> = expected.iter().map(|(server, ..)| *server).collect();
    let preset = format!("\n[presets.all]\nextends = [\"proxy\"]\nservers = {}\n", json!(names));
    host.place.write("presets.toml", text + &preset);

    let mut client = Client::spawn(host.command(&["serve", "--preset", "all"]));
    client.initialize("2025-11-25");
    client.wait_for_tools(LIMIT, |tools| {
        expected.iter().all(|(server, tool, ..)| tools.contains(&format!("{server}__{tool}")))
    });
    let folder = host.place.path("").display().to_string();
    let mut differences = BTreeSet::new();
    for (server, tool, arguments, needle) in &expected {
        let arguments = arguments.replace("{place}", folder.trim_end_matches('/'));
        let arguments: Option<Value> =
            (!arguments.is_empty()).then(|| serde_json::from_str(&arguments).expect("JSON"));
        if let Some(arguments) = &arguments {
            let reply = client.call(&format!("{server}__{tool}"), arguments.clone());
            assert!(reply.to_string().contains(needle), "{server}: {reply}");
        }
        let mut raw = host.raw(server);
        let capabilities = raw.initialize("2025-11-25")["capabilities"].clone();
        differences.extend(compared::differences(
            server,
            &mut raw,
            &capabilities,
            &mut client,
            arguments.as_ref().map(|arguments| (*tool, arguments)),
        ));
    }
    // It runs only as a task of 2025-11-25.
    let known = ["everything: tool simulate-research-query is not listed"];
    let first_lines: Vec<_> = differences.iter().filter_map(|difference| difference.lines().next()).collect();
    assert_eq!(first_lines, known, "{}", differences.iter().cloned().collect::<String>());
    assert_eq!(client.close(), Some(0));
}
