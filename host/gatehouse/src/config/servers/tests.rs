//! Tests of `[servers]` and `[proxy]`.

use gatehouse_core::{
    SourceId,
    http::Secret,
    ports::servers::{ServerLogin, ServerTransport},
};
use gatehouse_wire::login::{LoginGrant, NamedClient, NamedIssuer};

use super::*;
use crate::config::tests;

fn parse(content: &str) -> Result<Config, PlainError> {
    // A variable of the list: tests cannot set others in the process environment.
    let env = Env::from_pairs([("GATEHOUSE_TOKEN", "0123456789abcdef")]);
    tests::parse(content, &env)
}

fn server(block: &str) -> Result<ServerConfig, PlainError> {
    let config = parse(&format!("[servers.git]\n{block}\n"))?;
    config.servers.declared.get("git").cloned().ok_or_else(|| "no server".into())
}

fn error(block: &str) -> PlainError {
    server(block).map(drop).expect_err(block)
}

#[test]
fn a_program_becomes_a_definition() {
    let block = "command = \"./bin/git-mcp\"\nargs = [\"--key\", \"${GATEHOUSE_TOKEN}\"]\nenv = { MODE = \"ro\", API_KEY = \"in-the-file\" }\ncwd = \"repo\"\ntags = [\"work\", \"code\", \"work\"]\ntimeout = 5\nconnection_timeout = \"2 min\"\non_change = \"quarantine\"";
    let ServerConfig { definition, login, enabled, literals, .. } = server(block).expect("valid");
    assert!(enabled && login == LoginSettings::default());
    assert_eq!(literals, ["API_KEY"]);
    let env = vec![("API_KEY".into(), Secret::new("in-the-file")), ("MODE".into(), Secret::new("ro"))];
    let args = vec!["--key".into(), "0123456789abcdef".into()];
    let (command, cwd) = ("/etc/gh/./bin/git-mcp".into(), Some("/etc/gh/repo".into()));
    assert_eq!(definition.transport, ServerTransport::Stdio { command, args, env, cwd });
    assert_eq!(definition.tags, ["code", "work"]);
    assert_eq!(definition.timeout, Duration::from_secs(5));
    assert_eq!(definition.connection_timeout, Some(Duration::from_secs(120)));
    assert_eq!(definition.idle_timeout, Some(Duration::from_secs(600)));
    assert_eq!(definition.on_change, tool_index::ChangePolicy::Quarantine);
    assert_eq!(definition.secrets, [Secret::new("0123456789abcdef"), Secret::new("in-the-file")]);
    assert!(definition.missing.is_empty());
}

#[test]
fn an_address_becomes_a_definition() {
    let block =
        "url = \"https://mcp.example.com/mcp\"\nheaders = { Authorization = \"Bearer ${GATEHOUSE_TOKEN}\" }";
    let definition = server(block).expect("valid").definition;
    let headers = vec![("Authorization".into(), Secret::new("Bearer 0123456789abcdef"))];
    let url = "https://mcp.example.com/mcp".into();
    assert_eq!(definition.transport, ServerTransport::Http { url, headers });
    assert_eq!((definition.timeout, definition.idle_timeout), (TIMEOUT, None));
    let old = server("url = \"http://127.0.0.1:1/sse\"\ntransport = \"sse\"").expect("valid").definition;
    assert_eq!(old.transport.as_str(), "sse");
}

#[test]
fn each_caller_may_have_a_login_of_its_own() {
    let own = server("url = \"https://a.example\"\nlogin = \"caller\"").expect("valid").definition;
    assert_eq!(own.login, ServerLogin::Caller);
    assert_eq!(server("url = \"https://a.example\"").expect("valid").definition.login, ServerLogin::Shared);
    for (block, reason) in [
        ("command = \"x\"\nlogin = \"caller\"", "requires url; a program has one login for all callers"),
        ("url = \"https://a.example\"\nlogin = \"caller\"\npreconnect = true", "exclude each other"),
        (
            "url = \"https://a.example\"\nlogin = \"caller\"\nheaders = { authorization = \"Bearer ${GATEHOUSE_TOKEN}\" }",
            "each caller has an Authorization header",
        ),
        ("url = \"https://a.example\"\nlogin = \"mine\"", "mine"),
    ] {
        let error = error(block).to_string();
        assert!(error.contains(reason), "{block}: {error}");
    }
}

#[test]
fn a_login_is_described_beside_an_address() {
    let block = "url = \"https://a.example\"\noauth = { client_id = \"me\", client_secret = \"${GATEHOUSE_TOKEN}\", scopes = [\"a:read\"], issuer = \"https://sso.corp\", redirect_port = 8765 }";
    let ServerConfig { definition, login, .. } = server(block).expect("valid");
    let secret = Secret::new("0123456789abcdef");
    assert_eq!(definition.secrets, std::slice::from_ref(&secret));
    let wanted = LoginSettings {
        issuer: Some(NamedIssuer {
            url: "https://sso.corp".into(),
            client: Some(NamedClient { id: "me".into(), secret: Some(secret), private_key: None }),
        }),
        scopes: vec!["a:read".into()],
        redirect_port: Some(8765),
        grant: LoginGrant::AuthorizationCode,
    };
    assert_eq!(login, wanted);
}

#[test]
fn an_identity_provider_vouches_for_the_user_of_a_client() {
    let provider = |keys: &str| {
        format!(
            "url = \"https://a.example\"\n[servers.git.oauth]\n{keys}\n[servers.git.oauth.identity_provider]\n\
            issuer = \"https://login.corp\"\nclient_id = \"us\"\n"
        )
    };
    let client = "client_id = \"me\"\nissuer = \"https://sso.corp\"";
    let secret = "client_secret = \"${GATEHOUSE_TOKEN}\"";
    let read = server(&format!("{}{secret}", provider(client))).expect("valid");
    let LoginGrant::IdentityProvider(named) = read.login.grant else { panic!("another grant") };
    assert_eq!(named.url, "https://login.corp");
    let wanted =
        NamedClient { id: "us".into(), secret: Some(Secret::new("0123456789abcdef")), private_key: None };
    assert_eq!(named.client, Some(wanted));
    assert_eq!(read.definition.secrets, [Secret::new("0123456789abcdef")], "redacted in all replies");
    for (block, reason) in [
        (provider(""), "identity_provider needs client_id and issuer"),
        (provider("client_id = \"me\""), "client_id needs an issuer"),
        (provider(&format!("{client}\ngrant = \"client-credentials\"")), "exclude each other"),
        (format!("{}{secret}\nprivate_key = \"x\"", provider(client)), "exclude each other"),
        (provider(client).replace("https://login.corp", "login.corp"), "issuer must be an address"),
    ] {
        let error = error(&block).to_string();
        assert!(error.contains(reason), "{block}: {error}");
    }
}

#[test]
fn a_variable_that_is_not_set_is_named_and_no_error() {
    let block = "url = \"https://${GATEHOUSE_TEST_B}/mcp\"\nheaders = { X = \"${GATEHOUSE_TEST_A}${GATEHOUSE_TEST_B}\" }";
    let definition = server(block).expect("valid").definition;
    assert_eq!(definition.missing, ["GATEHOUSE_TEST_A", "GATEHOUSE_TEST_B"]);
}

#[test]
fn secrets_show_themselves_nowhere() {
    let block = "command = \"x\"\nenv = { A = \"${GATEHOUSE_TOKEN}\" }";
    let shown = format!("{:?}", server(block).expect("valid"));
    assert!(!shown.contains("0123456789abcdef"), "{shown}");
}

#[test]
fn credentials_that_the_file_has_among_arguments_are_secrets() {
    let block = "command = \"npx\"\nargs = [\"mcp-remote\", \"https://a.example/?api_key=abcdefgh\", \"--header\", \"Authorization: Bearer ijklmnop\", \"--header\", \"X-Key: ${GATEHOUSE_TOKEN}\"]";
    let server = server(block).expect("valid");
    assert_eq!(server.literals, ["args[1] (api_key)", "args[3] (Authorization)"]);
    let secrets = ["0123456789abcdef", "abcdefgh", "ijklmnop"].map(Secret::new);
    assert_eq!(server.definition.secrets, secrets);
    let of_url = self::server("url = \"https://a.example/?token=abcdefgh\"").expect("valid");
    assert_eq!(of_url.literals, ["url (token)"]);
}

#[test]
fn the_proxy_says_how_servers_are_connected() {
    let content = "[servers.a]\ncommand = \"a\"\n[servers.b]\ncommand = \"b\"\nenabled = false\n[proxy]\npreconnect_servers = [\"a\"]\nconnection_timeout = 5\nmax_connection_retries = 0\nidle_timeout = \"never\"\n";
    let servers = parse(content).expect("valid").servers;
    assert_eq!(servers.proxy.connection_timeout, Some(Duration::from_secs(5)));
    assert_eq!((servers.proxy.retries, servers.proxy.idle_timeout), (0, None));
    let enabled: Vec<_> = servers.enabled().map(|server| (&*server.name, server.preconnect)).collect();
    assert_eq!(enabled, [("a", true)]);
    let turned =
        parse("[servers.b]\ncommand = \"b\"\n[servers.a]\ncommand = \"a\"\n").expect("valid").servers;
    assert_eq!(["b", "a", "added"].map(|name| turned.position(name)), [0, 1, usize::MAX]);
    let eager =
        parse(&content.replace("preconnect_servers = [\"a\"]", "lazy_connect = false")).expect("valid");
    assert!(eager.servers.declared.values().all(|server| server.definition.preconnect));
    assert_eq!(parse("").expect("valid").servers, ServersConfig::default());
}

#[test]
fn presets_show_servers_reach_them_and_change_their_tools() {
    let content = "[servers.git]\ncommand = \"x\"\n[presets.base]\nservers = [\"git\"]\nproxied = [\"tag:work\"]\n[presets.base.tools.git__log]\nname = \"history\"\nfixed = { limit = 5 }\n[presets.base.tools.git__push]\nhide = true\n[presets.more]\nextends = [\"base\"]\ngates.kg = {}\n";
    let config = parse(content).expect("valid");
    let compiled = gatehouse_core::CompiledPreset::compile(&config.presets, "more").expect("compiled");
    let sources: Vec<_> = compiled.sources.iter().map(|(source, _)| source.clone()).collect();
    assert_eq!(sources, [SourceId::Server("git".into()), SourceId::Gate("kg".into())]);
    assert_eq!(compiled.tools["git__log"].name.as_deref(), Some("history"));
    assert!(compiled.tools["git__push"].hidden);
}

#[test]
fn every_mistake_has_its_place() {
    for (block, wanted) in [
        ("comand = \"x\"", ":2:1: unknown key 'comand'. Did you mean 'command'?"),
        ("args = []", ":1:10: server 'git' needs a command (a program) or a url (an address)"),
        ("command = \"x\"\nurl = \"http://a\"", ":3:7: server 'git' has both command and url"),
        ("command = \"\"", ":2:11: command is empty"),
        ("command = \"x\"\ntransport = \"http\"", ":3:13: a command uses \"stdio\""),
        ("command = \"x\"\ntransport = \"htp\"", ":3:13: 'htp' is not allowed here. Did you mean 'http'?"),
        ("command = \"x\"\nheaders = { A = \"b\" }", ":3:13: headers require url"),
        ("url = \"http://a\"\ntransport = \"stdio\"", ":3:13: a url uses"),
        ("url = \"http://a\"\nenv = { A = \"b\" }", ":3:9: env requires command; for a url, use headers"),
        ("url = \"ftp://a\"", ":2:7: url must begin with http:// or https://"),
        ("url = \"https://me:pw@a/\"", ":2:7: url must not contain a password"),
        (
            "url = \"http://a\"\nheaders = { Host = \"b\" }",
            ":3:13: 'Host' is not a header name that can be set",
        ),
        (
            "url = \"http://a\"\nheaders = { Accept = \"b\" }",
            ":3:13: header 'Accept' belongs to the protocol: Gatehouse sets it itself. Remove it",
        ),
        ("url = \"http://a\"\nheaders = { A = \"${B\" }", ":3:17: '${' is not closed"),
        ("command = \"x\"\nenv = { \"A=B\" = \"c\" }", ":3:9: 'A=B' is not a valid variable name"),
        ("command = \"x\"\ntags = [\"a b\"]", ":3:9: 'a b' cannot be a tag"),
        ("command = \"x\"\ntimeout = -1", ":3:11: timeout must be 100 ms to 60 min, not -1"),
        ("command = \"x\"\ntimeout = 0", ":3:11: timeout must be 100 ms to 60 min"),
        ("command = \"x\"\nconnection_timeout = 601", ":3:22: connection_timeout must be 100 ms to 10 min"),
        ("command = \"x\"\ntimeout = \"soon\"", ":3:11: timeout: invalid duration 'soon'"),
        ("command = \"x\"\ntimeout = true", ":3:11: timeout must be a time such as \"30 s\""),
        ("command = \"x\"\non_change = \"hold\"", ":3:13: 'hold' is not allowed here."),
    ] {
        let reason = error(block);
        assert!(reason.contains(wanted), "{block}: {reason}");
    }
    for (content, wanted) in [
        ("[servers.a__b]\ncommand = \"x\"", ":1:10: 'a__b' cannot be the name of a server"),
        ("[proxy]\nidle_timeout = 0", ":2:16: idle_timeout must be 1 s to 1440 min"),
        ("[proxy]\nmax_connection_retries = -1", ":2:26: max_connection_retries must be 0 to 10, not -1"),
        ("[proxy]\npreconnect_servers = [\"a\"]", ":2:23: there is no server 'a'; declare it"),
        (
            "[servers.github]\ncommand = \"x\"\n[presets.a]\nservers = [\"githb\"]",
            ":4:12: there is no server 'githb' in this file. Did you mean 'github'?",
        ),
        ("[presets.a.tools.x]\nname = \"a b\"", ":2:8: 'a b' contains ' '"),
        ("[presets.a.tools.x]\nname = \"a\"\nhide = true", ":1:18: 'x' is hidden, so nothing else"),
        (
            "[recommend_tools]\nsearch_mode = \"llm\"",
            ":1:2: unknown key 'recommend_tools'. search_mode, include_metrics",
        ),
    ] {
        let reason = parse(content).map(drop).expect_err(content);
        assert!(reason.contains(wanted), "{content}: {reason}");
    }
}
