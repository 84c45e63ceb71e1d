//! Ten servers of npm and PyPI as users configure them, with `npx -y` and `uvx` and empty caches. Imported from Claude
//! Code's file, they appear in a running client and work.

use std::{
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

const LIMIT: Duration = Duration::from_secs(180);

const OTHERS: [(&str, &str, &str, &str); 2] = [
    ("calculator", "calculate", r#"{"expression": "6 * 7"}"#, "42"),
    ("budget", "get-budget-data", "{}", "ategories"),
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
        let mut command = self.place.command(arguments);
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
        ASKED.iter().map(|(server, _, tool, arguments, said)| (*server, *tool, *arguments, *said));
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
    for (server, tool, arguments, said) in expected {
        let arguments = arguments.replace("{place}", folder.trim_end_matches('/'));
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        let reply = client.call(&format!("{server}__{tool}"), arguments);
        assert_eq!(reply["isError"] == true, server == "fetch", "{server}: {reply}");
        assert!(reply.to_string().contains(said), "{server}: {reply}");
    }
    assert_eq!(client.close(), Some(0));
}
