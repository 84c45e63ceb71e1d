//! The eight reference servers of MCP behind the gate `proxy`: their tools are found, read and called at low cost;
//! servers start on demand and end with the host.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{
    Client, Place, installed,
    processes::{below, end_all},
};

/// Each server with a question as an agent would ask it, the tool that answers, its arguments, and part of the reply.
/// `{place}` is the folder of the place.
pub(crate) const ASKED: [(&str, &str, &str, &str, &str); 8] = [
    (
        "filesystem",
        "read the text of a file on disk",
        "read_text_file",
        r#"{"path": "{place}/files/note.txt"}"#,
        "42 apples",
    ),
    (
        "memory",
        "remember a person as an entity in the knowledge graph",
        "create_entities",
        r#"{"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes engines"]}]}"#,
        "Ada",
    ),
    (
        "thinking",
        "think through a problem step by step",
        "sequentialthinking",
        r#"{"thought": "Begin.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}"#,
        "thoughtNumber",
    ),
    ("everything", "add two numbers", "get-sum", r#"{"a": 19, "b": 23}"#, "42"),
    (
        "git",
        "show the commits of a repository",
        "git_log",
        r#"{"repo_path": "{place}/repository"}"#,
        "A first step",
    ),
    (
        "time",
        "convert a time between time zones",
        "convert_time",
        r#"{"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}"#,
        "21:00",
    ),
    ("sqlite", "which tables the database has", "list_tables", "{}", "[]"),
    ("fetch", "get a web page as markdown", "fetch", r#"{"url": "http://127.0.0.1:9/"}"#, "127.0.0.1"),
];

/// A place with all eight servers: preset `proxy` has the gate, preset `direct` all tools. `None` if they are not
/// installed.
fn place() -> Option<Place> {
    let node = installed("GATEHOUSE_TEST_NODE")?;
    let scripts = installed("GATEHOUSE_TEST_NODE_SERVERS")?.join("@modelcontextprotocol");
    let python = installed("GATEHOUSE_TEST_PYTHON_SERVERS")?;
    let old = installed("GATEHOUSE_TEST_OLD_PYTHON_SERVERS")?;
    let place = Place::with("", &["proxy"]);
    let folder = place.path("");
    let at = |name: &str| folder.join(name).display().to_string();
    place.write("files/note.txt", "There are 42 apples.\n");
    repository(&place);
    let script = |name: &str| scripts.join(name).join("dist/index.js").display().to_string();
    let servers = [
        ("filesystem", &node, vec![script("server-filesystem"), at("files")], ""),
        ("memory", &node, vec![script("server-memory")], "MEMORY_FILE_PATH"),
        ("thinking", &node, vec![script("server-sequential-thinking")], ""),
        ("everything", &node, vec![script("server-everything"), "stdio".into()], ""),
        ("git", &python.join("mcp-server-git"), vec!["--repository".into(), at("repository")], ""),
        ("time", &python.join("mcp-server-time"), vec!["--local-timezone".into(), "UTC".into()], ""),
        ("fetch", &python.join("mcp-server-fetch"), vec!["--ignore-robots-txt".into()], ""),
        ("sqlite", &old.join("mcp-server-sqlite"), vec!["--db-path".into(), at("data.db")], ""),
    ];
    let mut text = String::from("[gates.proxy]\ngrants = [\"servers\"]\n[presets.proxy]\ngates.proxy = {}\n");
    let names = servers.each_ref().map(|(name, ..)| *name);
    text += &format!("[presets.direct]\nservers = {}\n", json!(names));
    for (name, command, arguments, variable) in &servers {
        text += &format!("[servers.{name}]\ncommand = {}\nargs = {}\n", json!(command), json!(arguments));
        if !variable.is_empty() {
            text += &format!("env = {{ {variable} = {} }}\n", json!(at("memory.json")));
        }
    }
    place.write("presets.toml", text);
    Some(place)
}

pub(crate) fn repository(place: &Place) {
    let folder = place.path("repository");
    std::fs::create_dir_all(&folder).expect("a folder");
    for arguments in [
        vec!["init", "--quiet"],
        vec![
            "-c",
            "user.name=T",
            "-c",
            "user.email=t@localhost",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "A first step",
        ],
    ] {
        let ended = Command::new("git").args(&arguments).current_dir(&folder).status().expect("git");
        assert!(ended.success(), "git {arguments:?}");
    }
}

fn result_text(reply: &Value) -> String {
    assert_ne!(reply["isError"], true, "{reply}");
    reply["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}")).to_owned()
}

#[test]
fn each_is_found_read_and_called_for_the_price_of_a_few_tools() {
    let Some(place) = place() else { return };
    let mut client = Client::start(&place, "proxy");
    let shown = client.request("tools/list", json!({}))["result"]["tools"].to_string().len();
    let listed = result_text(&client.call("list_mcp_servers", json!({})));
    assert!(ASKED.iter().all(|(server, ..)| listed.contains(server)), "{listed}");
    result_text(&client.call("refresh_mcp_server", json!({})));
    for (server, question, tool, arguments, expected) in ASKED {
        let found = result_text(&client.call("search_tools", json!({"query": question})));
        assert!(found.contains(tool), "{server}: '{question}' finds no {tool}: {found}");
        let schema = result_text(&client.call("get_tool_schema", json!({"server": server, "tool": tool})));
        assert!(schema.contains("inputSchema"), "{schema}");
        let folder = place.path("").display().to_string();
        let arguments: Value =
            serde_json::from_str(&arguments.replace("{place}", folder.trim_end_matches('/'))).expect("JSON");
        let call = json!({"server": server, "tool": tool, "arguments": arguments});
        let reply = client.call("call_tool", call);
        // The page does not exist, so the tool itself returns an error.
        assert_eq!(reply["isError"] == true, server == "fetch", "{server}: {reply}");
        assert!(reply.to_string().contains(expected), "{server}: {reply}");
    }
    let running = below(client.pid());
    assert!(running.len() >= ASKED.len(), "{running:?}");
    client.close();
    end_all(&running);
    let known = Client::start(&place, "proxy");
    assert_eq!(below(known.pid()), [].into(), "servers with a known listing start on demand");
    known.close();
    let mut direct = Client::start(&place, "direct");
    let whole = direct.request("tools/list", json!({}))["result"]["tools"].to_string().len();
    assert!(shown * 9 < whole, "{shown} of {whole} bytes");
}

#[test]
fn nothing_is_left_of_them_when_the_host_is_killed() {
    let Some(place) = place() else { return };
    let mut client = Client::start(&place, "proxy");
    // The first call lists the servers; the second connects those that ended after the listing.
    for _ in 0..2 {
        result_text(&client.call("refresh_mcp_server", json!({})));
    }
    let running = below(client.pid());
    assert!(running.len() >= ASKED.len(), "{running:?}");
    let killed = Command::new("kill").args(["-KILL", &client.pid().to_string()]).status().expect("kill");
    assert!(killed.success());
    end_all(&running);
}
