//! Imports of typical files of each client.

use super::*;
use crate::config::ConfigText;

fn import(files: &[(&str, &str)]) -> ImportOutcome {
    let text = ConfigText {
        file: Some("/etc/gh/presets.toml".into()),
        content: "[servers.taken]\ncommand = \"x\"\n".into(),
    };
    let env = Env::default();
    let config = Config::parse(&text, &env).expect("valid");
    let mut import = ServerImporter::new(&config, &BTreeMap::new(), &env);
    let project = ["/no-such/repository/below".into(), "/no-such/repository".into()];
    for (file, text) in files {
        let context =
            ImportContext { file: Path::new(file), home: Some(Path::new("/home/me")), project: &project };
        import.import_file(ImportClient::from_file(context.file), &context, text).expect("a client's file");
    }
    import.finish()
}

fn blocks(imported: &ImportOutcome) -> String {
    let blocks =
        imported.servers.iter().map(|server| config::edit::server_block(&server.name, &server.definition));
    blocks.collect()
}

#[test]
fn what_people_write_is_imported() {
    let file = r#"{
        "Größe": {"command": "z"}, "文件": {"command": "npx -y @acme/server --flag"},
        "a.b": {"command": "~/bin/server", "args": ["~/data", "x~/y"], "cwd": "~/work"},
        "a b": {"command": "docker", "args": ["run", "-e", "API_KEY", "--env=MODE", "-e", "SET=1", "-eOTHER", "img"],
                "env": {"OTHER": "own"}},
        "查询": {"command": "sh", "args": ["-c", "A=${A:-${B:-c}} x"]},
        "secret": {"url": "https://h.example/mcp", "headers": {"Authorization": "${T:-ghp_0123456789abcdef}"}}
    }"#;
    let imported = import(&[("/p/.mcp.json", file)]);
    assert!(imported.left_out.is_empty(), "{:?}", imported.left_out);
    let expected = "[servers.Gr-e]
command = \"z\"
[servers.server]
command = \"npx\"
args = [\"-y\", \"@acme/server\", \"--flag\"]
[servers.a-b]
command = \"/home/me/bin/server\"
args = [\"/home/me/data\", \"x~/y\"]
cwd = \"/home/me/work\"
[servers.a-b-2]
command = \"docker\"
args = [\"run\", \"-e\", \"API_KEY\", \"--env=MODE\", \"-e\", \"SET=1\", \"-eOTHER\", \"img\"]
env = { OTHER = \"own\", API_KEY = \"${API_KEY:-}\", MODE = \"${MODE:-}\" }
[servers.server-2]
command = \"sh\"
args = [\"-c\", \"A=${A:-${B:-c}} x\"]
[servers.secret]
url = \"https://h.example/mcp\"
headers = { Authorization = \"${T}\" }
";
    assert_eq!(blocks(&imported), expected);
    let notes = &imported.servers.last().expect("a server").notes;
    assert_eq!(notes, &["set T; its default is not copied, because it looks like a secret"]);
}

#[test]
fn claude_code_and_desktop() {
    let imported = import(&[
        (
            "/p/.mcp.json",
            r#"{"mcpServers": {
                "github": {"command": "npx", "args": ["-y", "@github/mcp"], "env": {"GITHUB_TOKEN": "ghp_0123456789abcdef", "DEBUG": "1"}},
                "docs": {"type": "http", "url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN:-none}"}},
                "gatehouse": {"command": "/usr/bin/gatehouse", "args": ["serve"]},
                "taken": {"command": "y"},
                "broken": {"args": []}
            }}"#,
        ),
        (
            "/h/claude_desktop_config.json",
            r#"{"mcpServers": {"My files!": {"command": "uvx", "args": ["files", "/tmp"]}}}"#,
        ),
    ]);
    let wanted = "[servers.github]\ncommand = \"npx\"\nargs = [\"-y\", \"@github/mcp\"]\nenv = { GITHUB_TOKEN = \"${GITHUB_TOKEN}\", DEBUG = \"1\" }\n[servers.docs]\nurl = \"https://docs.example/mcp\"\nheaders = { Authorization = \"Bearer ${DOCS_TOKEN:-none}\" }\n[servers.My-files]\ncommand = \"uvx\"\nargs = [\"files\", \"/tmp\"]\n";
    assert_eq!(blocks(&imported), wanted);
    let stands = "env.GITHUB_TOKEN of server 'github' of /p/.mcp.json";
    assert_eq!(imported.variables, [("GITHUB_TOKEN".to_owned(), stands.to_owned())]);
    let left: Vec<(&str, &str)> =
        imported.left_out.iter().map(|(_, name, reason)| (&**name, &**reason)).collect();
    let wanted = [
        ("gatehouse", "it is Gatehouse itself"),
        ("taken", "presets.toml already has another 'taken'"),
        ("broken", "it has neither a command nor a url"),
    ];
    assert_eq!(left, wanted);
    assert!(imported.servers[1].notes.is_empty(), "the default is copied");
    assert_eq!(imported.servers[2].notes, ["its original name is 'My files!'"]);
}

#[test]
fn cursor_and_vscode_with_their_own_variables() {
    let imported = import(&[
        (
            "/p/.cursor/mcp.json",
            r#"{"mcpServers": {"a": {"command": "${workspaceFolder}/run", "env": {"K": "${env:MY_KEY}", "H": "${userHome}/x"}}}}"#,
        ),
        (
            "/p/.vscode/mcp.json",
            "{ // comments, as editors allow them\n \"inputs\": [{\"id\": \"api-key\", \"type\": \"promptString\"}],\n \"servers\": {\n  \"b\": {\"type\": \"sse\", \"url\": \"https://b.example/sse\", \"headers\": {\"X-Key\": \"${input:api-key}\"}},\n  \"c\": {\"command\": \"c\", \"args\": [\"${file}\"]}, /* and commas at the end */\n },\n}",
        ),
    ]);
    let wanted = "[servers.a]\ncommand = \"/p/run\"\nenv = { K = \"${MY_KEY}\", H = \"/home/me/x\" }\n[servers.b]\nurl = \"https://b.example/sse\"\nheaders = { X-Key = \"${API_KEY}\" }\ntransport = \"sse\"\n";
    assert_eq!(blocks(&imported), wanted);
    assert_eq!(
        imported.servers[1].notes,
        ["the client asks for 'api-key'; here it is the environment variable API_KEY"]
    );
    assert_eq!(&*imported.left_out[0].2, "it uses ${file}, which only its client can fill in");
}

#[test]
fn codex_and_gemini() {
    let imported = import(&[
        (
            "/home/me/.codex/config.toml",
            "model = \"x\"\n[mcp_servers.fs]\ncommand = \"fs\"\nenv_vars = [\"HOME_KEY\"]\ntool_timeout_sec = 90\nstartup_timeout_sec = 45.5\nenabled = false\nenabled_tools = [\"a\"]\n[mcp_servers.web]\nurl = \"https://w.example/mcp\"\nbearer_token_env_var = \"W_TOKEN\"\n",
        ),
        (
            "/home/me/.gemini/settings.json",
            r#"{"theme": "x", "mcpServers": {
                "g": {"httpUrl": "https://g.example/mcp?api_key=abcdefgh12345", "timeout": 2500},
                "old": {"url": "https://o.example/sse", "headers": {"Authorization": "Bearer $OLD_TOKEN"}},
                "arg": {"command": "x", "args": ["--api-key", "abcdefgh", "--token=ijklmnop", "-v"]}}}"#,
        ),
    ]);
    let wanted = "[servers.fs]\ncommand = \"fs\"\nenv = { HOME_KEY = \"${HOME_KEY}\" }\nenabled = false\ntimeout = \"90 s\"\nconnection_timeout = \"46 s\"\n[servers.web]\nurl = \"https://w.example/mcp\"\nheaders = { Authorization = \"Bearer ${W_TOKEN}\" }\n[servers.g]\nurl = \"https://g.example/mcp?api_key=${G_API_KEY}\"\ntimeout = \"3 s\"\n[servers.old]\nurl = \"https://o.example/sse\"\nheaders = { Authorization = \"Bearer ${OLD_TOKEN}\" }\ntransport = \"sse\"\n[servers.arg]\ncommand = \"x\"\nargs = [\"--api-key\", \"${ARG_API_KEY}\", \"--token=${ARG_TOKEN}\", \"-v\"]\n";
    assert_eq!(blocks(&imported), wanted);
    assert_eq!(imported.servers[0].notes, ["ignored keys: enabled_tools"]);
    let names: Vec<&str> = imported.variables.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["ARG_API_KEY", "ARG_TOKEN", "G_API_KEY"]);
}

#[test]
fn servers_of_the_project_come_first_and_other_projects_are_named() {
    let servers = |command: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "{command}"}}}}}}"#);
    let projects = ["/no-such/repository", "/no-such/other", "/no-such/repository/below"]
        .map(|directory| format!("\"{directory}\": {}", servers(directory)));
    let empty = "\"/no-such/empty\": {\"mcpServers\": {}, \"allowedTools\": []}";
    let user = r#""mcpServers": {"a": {"command": "user"}, "b": {"command": "user"}}"#;
    let file = format!("{{\"projects\": {{{}, {empty}}}, {user}}}", projects.join(", "));
    let imported = import(&[("/home/me/.claude.json", &file)]);
    let names: Vec<_> =
        imported.servers.iter().map(|server| (&*server.name, &server.definition["command"])).collect();
    assert_eq!(names, [("a", &"/no-such/repository/below".into()), ("b", &"user".into())]);
    assert_eq!(imported.elsewhere, [("/home/me/.claude.json".into(), "/no-such/other".into(), 1)]);
}

#[test]
fn the_same_server_in_two_files_is_the_same() {
    let file = |command: &str| {
        format!(
            r#"{{"mcpServers": {{"a": {{"command": "{command}", "env": {{"A_KEY": "k-12345678"}}}}, "taken": {{"command": "x"}}}}}}"#
        )
    };
    let imported = import(&[
        ("/p/.mcp.json", &file("one")),
        ("/p/.cursor/mcp.json", &file("one")),
        ("/q/.mcp.json", &file("two")),
    ]);
    let left: Vec<&str> = imported.left_out.iter().map(|(_, _, reason)| &**reason).collect();
    let taken = "presets.toml already has the same 'taken'";
    let (same, other) = ("the same 'a' comes from /p/.mcp.json", "another 'a' comes from /p/.mcp.json");
    assert_eq!(left, [taken, same, taken, other, taken]);
}

#[test]
fn a_timeout_is_in_the_unit_of_its_client() {
    let servers = |timeout: u32| {
        let url = "https://a.example/mcp";
        format!(r#"{{"mcpServers": {{"a": {{"url": "{url}", "timeout": {timeout}, "alwaysAllow": []}}}}}}"#)
    };
    for (file, timeout, wanted, note) in [
        ("/h/cline_mcp_settings.json", 60, "60 s", None),
        ("/h/settings/mcp_settings.json", 3_600, "3600 s", None),
        ("/p/.roo/mcp.json", 60, "60 s", None),
        ("/p/.gemini/settings.json", 500, "1 s", None),
        ("/p/.mcp.json", 60, "60 s", Some("its timeout of 60 is read as seconds")),
        ("/p/.mcp.json", 60_000, "60 s", None),
        (
            "/p/.mcp.json",
            7_200_000,
            "3600 s",
            Some("its timeout of 7200 s is reduced to 3600 s, the maximum"),
        ),
    ] {
        let imported = import(&[(file, &servers(timeout))]);
        let server = &imported.servers[0];
        assert_eq!(server.definition["timeout"], wanted, "{file}");
        let notes: Vec<&str> = server.notes.iter().map(String::as_str).collect();
        let wanted: Vec<&str> = note.into_iter().chain(["ignored keys: alwaysAllow"]).collect();
        assert_eq!(notes, wanted, "{file}");
    }
    let sse = import(&[("/h/cline_mcp_settings.json", &servers(60))]);
    assert_eq!(sse.servers[0].definition["transport"], "sse");
}

#[test]
fn secrets_in_headers_and_urls_among_arguments_become_variables() {
    let imported = import(&[(
        "/p/.mcp.json",
        r#"{"mcpServers": {
            "remote": {"command": "npx", "args": ["mcp-remote", "https://r.example/mcp?api_key=k-12345678", "--header", "Authorization: Bearer sk-live-12345678"]},
            "own": {"command": "npx", "args": ["mcp-remote", "https://o.example", "--header", "Authorization:${AUTH_HEADER}"], "env": {"AUTH_HEADER": "Bearer abc-12345678"}},
            "db": {"command": "uvx", "args": ["db", "postgres://me:pa-12345678@db.example/x"]},
            "docker": {"command": "docker", "args": ["run", "-e", "X_TOKEN=t-12345678", "image"]}}}"#,
    )]);
    let wanted = "[servers.remote]\ncommand = \"npx\"\nargs = [\"mcp-remote\", \"https://r.example/mcp?api_key=${REMOTE_API_KEY}\", \"--header\", \"Authorization: Bearer ${REMOTE_AUTHORIZATION}\"]\n[servers.own]\ncommand = \"npx\"\nargs = [\"mcp-remote\", \"https://o.example\", \"--header\", \"Authorization:Bearer ${AUTH_HEADER}\"]\nenv = { AUTH_HEADER = \"Bearer ${AUTH_HEADER}\" }\n[servers.db]\ncommand = \"uvx\"\nargs = [\"db\", \"postgres://me:${DB_PASSWORD}@db.example/x\"]\n[servers.docker]\ncommand = \"docker\"\nargs = [\"run\", \"-e\", \"X_TOKEN=${DOCKER_X_TOKEN}\", \"image\"]\n";
    assert_eq!(blocks(&imported), wanted);
    let stands = |variable: &str| {
        let found = imported.variables.iter().find(|(name, _)| name == variable);
        found.map(|(_, stands)| stands.as_str()).expect(variable)
    };
    assert_eq!(
        stands("REMOTE_AUTHORIZATION"),
        "args[3] (Authorization) of server 'remote' of /p/.mcp.json, without 'Bearer '"
    );
    assert_eq!(stands("REMOTE_API_KEY"), "args[1] (api_key) of server 'remote' of /p/.mcp.json");
    assert_eq!(stands("AUTH_HEADER"), "env.AUTH_HEADER of server 'own' of /p/.mcp.json, without 'Bearer '");
    let shown = format!("{imported:?}");
    assert!(!shown.contains("12345678"), "{shown}");
}

#[test]
fn two_servers_with_one_variable_and_two_values_get_two_variables() {
    let imported = import(&[(
        "/p/.mcp.json",
        r#"{"mcpServers": {"a": {"command": "a", "env": {"API_KEY": "value-of-a"}}, "b": {"command": "b", "env": {"API_KEY": "value-of-b"}}, "c": {"command": "c", "env": {"API_KEY": "value-of-a"}}}}"#,
    )]);
    let names: Vec<&str> = imported.variables.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["API_KEY", "B_API_KEY"]);
    let shown = format!("{imported:?}");
    assert!(!shown.contains("value-of"), "{shown}");
}

#[test]
fn invalid_files_are_errors_and_other_settings_are_not() {
    let text = ConfigText { file: None, content: String::new() };
    let env = Env::default();
    let config = Config::parse(&text, &env).expect("valid");
    let mut import = ServerImporter::new(&config, &BTreeMap::new(), &env);
    let context = ImportContext { file: Path::new("/p/.mcp.json"), home: None, project: &[] };
    assert!(
        import
            .import_file(ImportClient::ClaudeCode, &context, "nonsense")
            .expect_err("refused")
            .starts_with("is not JSON")
    );
    assert!(
        import
            .import_file(ImportClient::Codex, &context, "x = [")
            .expect_err("refused")
            .starts_with("is not TOML")
    );
    let deep = "x = [".to_owned() + &"{ a = [".repeat(50_000);
    let reason = import.import_file(ImportClient::Codex, &context, &deep).expect_err("refused");
    assert!(reason.contains("more than 64 brackets are open"), "{reason}");
    import
        .import_file(ImportClient::ClaudeCode, &context, "{\"theme\": \"dark\"}")
        .expect("a file without servers");
    assert!(import.finish().servers.is_empty());
}

#[test]
fn names_become_valid_server_names() {
    for (name, wanted) in [
        ("git", Some("git")),
        ("@acme/my server", Some("acme-my-server")),
        ("a__b_", Some("a_b")),
        ("日本", None),
    ] {
        assert_eq!(server_name(name).as_deref(), wanted, "{name}");
    }
    assert_eq!(server_name(&"x".repeat(80)).map(|name| name.len()), Some(MAX_SERVER_NAME));
}
