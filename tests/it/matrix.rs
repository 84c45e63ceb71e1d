//! Clients and servers of all versions with each feature. One table generates the tests and is shown in
//! docs/protocol.md.

mod client;
mod features;

use std::fs;

use self::client::MatrixClient;
use crate::{
    logins::log_in,
    servers::{Listening, child},
    support::{Place, repository},
};

const OLDEST: &str = "2025-03-26";
const NEW: &str = "2026-07-28";
const VERSIONS: [&str; 4] = [OLDEST, "2025-06-18", "2025-11-25", NEW];

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A row of the matrix.
struct Feature {
    name: &'static str,
    /// The oldest version of clients with the feature.
    clients_since: &'static str,
    /// The oldest and newest version of servers with the feature.
    servers: (&'static str, &'static str),
    /// True if it concerns servers over HTTP only.
    http_only: bool,
    check: fn(&mut Pair),
}

/// A client and the servers that have a feature. Each server is named by its version.
struct Pair {
    place: Place,
    client: MatrixClient,
    /// True if the client's version has the feature.
    client_has_it: bool,
    servers: Vec<String>,
    /// Servers over HTTP.
    listening: Vec<(String, Listening)>,
}

fn options(place: &Place, server: &str) -> Vec<String> {
    let version = server.trim_start_matches('v').replace('_', "-");
    let record = format!("record={}", place.path(server).display());
    let era = if version == NEW { "era=new".to_owned() } else { format!("version={version}") };
    vec!["features=yes".into(), "sessions=yes".into(), era, record]
}

impl Pair {
    fn start(
        feature: &Feature,
        version: &'static str,
        client_transport: Transport,
        server_transport: Transport,
    ) -> Self {
        let place = Place::with("", &[]);
        let (first, last) = feature.servers;
        let versions = VERSIONS.iter().filter(|version| (first..=last).contains(*version));
        let servers: Vec<_> = versions.map(|version| format!("v{}", version.replace('-', "_"))).collect();
        let has_login = matches!(feature.name, "token refresh" | "401 and 403");
        let mut listening = Vec::new();
        let mut presets = format!("[presets.all]\nservers = {servers:?}\n");
        for server in &servers {
            let mut options = options(&place, server);
            options.extend(has_login.then(|| "login=yes".to_owned()));
            let options: Vec<_> = options.iter().map(String::as_str).collect();
            match server_transport {
                Transport::Stdio => presets += &child(server, &options, ""),
                Transport::Http => {
                    let started = Listening::start("http", &options);
                    presets += &started.block(server, "http");
                    presets += if has_login { "oauth = {}\n" } else { "" };
                    listening.push((server.clone(), started));
                }
            }
        }
        place.write("presets.toml", presets);
        // A server is listed, and has tools, once there is a login.
        for (server, _) in listening.iter().filter(|_| has_login) {
            log_in(place.command(&["servers", "login", server, "--no-browser", "--json"]));
        }
        let client = MatrixClient::start(&place, version, client_transport);
        let client_has_it = version >= feature.clients_since;
        Self { place, client, client_has_it, servers, listening }
    }

    fn listening(&self, server: &str) -> &Listening {
        let (_, listening) = self.listening.iter().find(|(name, _)| name == server).expect("a server");
        listening
    }
}

/// Returns the servers with which a client of this version has the feature, as the page shows them.
fn cell(feature: &Feature, version: &str) -> String {
    if version < feature.clients_since {
        return "–".into();
    }
    match feature.servers {
        (OLDEST, NEW) => "all".into(),
        (first, NEW) => format!("since {first}"),
        (_, last) => format!("up to {last}"),
    }
}

/// Runs the checks of one client over both transports, each with servers over both.
fn run(feature: &Feature, version: &'static str) {
    const TRANSPORTS: [Transport; 2] = [Transport::Stdio, Transport::Http];
    for server in TRANSPORTS {
        for client in TRANSPORTS {
            if server == Transport::Http || !feature.http_only {
                (feature.check)(&mut Pair::start(feature, version, client, server));
            }
        }
    }
}

macro_rules! matrix {
    ($($name:ident: $title:literal, $clients:expr, $servers:expr, $http_only:literal;)*) => {
        const FEATURES: &[Feature] = &[$(Feature {
            name: $title,
            clients_since: $clients,
            servers: $servers,
            http_only: $http_only,
            check: features::$name,
        }),*];

        $(mod $name {
            fn run(version: usize) {
                let feature = super::FEATURES.iter().find(|feature| feature.name == $title);
                super::run(feature.expect("a row"), super::VERSIONS[version]);
            }

            #[test]
            fn client_of_2025_03_26() {
                run(0);
            }

            #[test]
            fn client_of_2025_06_18() {
                run(1);
            }

            #[test]
            fn client_of_2025_11_25() {
                run(2);
            }

            #[test]
            fn client_of_2026_07_28() {
                run(3);
            }
        })*
    };
}

matrix! {
    call: "call", OLDEST, (OLDEST, NEW), false;
    progress: "progress", OLDEST, (OLDEST, NEW), false;
    cancel: "cancel", OLDEST, (OLDEST, NEW), false;
    form: "question with a form", "2025-06-18", ("2025-06-18", NEW), false;
    url_form: "question with an address", "2025-11-25", ("2025-11-25", NEW), false;
    sampling: "sampling", OLDEST, (OLDEST, NEW), false;
    list_changed: "changed lists", OLDEST, (OLDEST, NEW), false;
    resource_update: "changed resource", OLDEST, (OLDEST, NEW), false;
    session_expiry: "session of the server ends", OLDEST, (OLDEST, "2025-11-25"), true;
    server_restart: "server starts again", OLDEST, (OLDEST, NEW), false;
    token_refresh: "token refresh", OLDEST, (OLDEST, NEW), true;
    refusal: "401 and 403", OLDEST, (OLDEST, NEW), true;
}

#[test]
fn the_page_shows_the_matrix() {
    let page = fs::read_to_string(repository().join("docs/protocol.md")).expect("the page");
    let mut table = format!("| feature | {} |\n|---|---|---|---|---|\n", VERSIONS.join(" | "));
    for feature in FEATURES {
        let cells = VERSIONS.map(|version| cell(feature, version));
        table += &format!("| {} | {} |\n", feature.name, cells.join(" | "));
    }
    assert!(page.contains(&table), "docs/protocol.md needs this table:\n{table}");
}

/// The version before streamable HTTP works as a client and as a server, over stdio.
#[test]
fn the_version_of_2024_calls() {
    let feature = Feature { servers: ("2025-03-26", NEW), ..Feature { name: "call", ..FEATURES[0] } };
    let mut pair = Pair::start(&feature, "2024-11-05", Transport::Stdio, Transport::Stdio);
    features::call(&mut pair);
    let old = child("v2024_11_05", &["version=2024-11-05"], "");
    pair.place.write("presets.toml", format!("{old}[presets.all]\nservers = [\"v2024_11_05\"]\n"));
    for version in ["2024-11-05", NEW] {
        let client = MatrixClient::start(&pair.place, version, Transport::Stdio);
        pair = Pair { client, servers: vec!["v2024_11_05".into()], ..pair };
        features::call(&mut pair);
    }
}

/// Many clients call while the server ends its sessions again and again: no call fails, and none is left without an
/// answer.
#[test]
fn sessions_that_end_under_load_fail_no_call() {
    const CLIENTS: usize = 8;
    const ROUNDS: usize = 10;
    const CALLS: usize = 10;
    let server = Listening::start("http", &["version=2025-11-25", "sessions=yes"]);
    let presets = format!("{}[presets.all]\nservers = [\"s\"]\n", server.block("s", "http"));
    let place = Place::with(&presets, &[]);
    let host = crate::support::Http::start(&place, "all", &[]);
    let sessions: Vec<_> = (0..CLIENTS).map(|_| host.session("/mcp", &[])).collect();
    for round in 0..ROUNDS {
        std::thread::scope(|scope| {
            for (number, session) in sessions.iter().enumerate() {
                let host = &host;
                scope.spawn(move || {
                    for call in 0..CALLS {
                        let text = format!("{number} {call}");
                        let params = serde_json::json!({"name": "s__echo", "arguments": {"text": text}});
                        let answer = host.request("/mcp", session, "tools/call", params);
                        assert_eq!(answer["result"]["content"][0]["text"], text, "round {round}: {answer}");
                    }
                });
            }
            server.control("/end-sessions");
        });
    }
}
