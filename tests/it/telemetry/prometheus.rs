//! A real Prometheus, the alerts and the board that come with Gatehouse.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use super::{ADMIN, call, get, metrics_of, place, wait_for_server};
use crate::support::{Http, host::PATIENCE, installed, repository};

const FILES: &str = "packaging/files";

fn programs() -> Option<PathBuf> {
    installed("GATEHOUSE_TEST_PROMETHEUS")
}

fn read(name: &str) -> String {
    fs::read_to_string(repository().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the queries of the board, with the interval that Grafana would insert.
fn board_queries() -> Vec<String> {
    let board: Value = serde_json::from_str(&read(&format!("{FILES}/grafana-board.json"))).expect("JSON");
    let targets = board["panels"].as_array().expect("panels").iter().flat_map(|panel| {
        panel["targets"]
            .as_array()
            .expect("targets")
            .iter()
            .map(|target| target["expr"].as_str().expect("a query"))
    });
    targets.map(|query| query.replace("$__rate_interval", "1m")).collect()
}

#[test]
fn alerts_fire_when_they_should() {
    let Some(programs) = programs() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let rules = "prometheus-alerts.yml";
    fs::write(folder.path().join(rules), read(&format!("{FILES}/{rules}"))).expect("written");
    fs::write(folder.path().join("cases.yml"), read("tests/fixtures/telemetry/alerts-test.yml"))
        .expect("written");
    for arguments in [["check", "rules", rules], ["test", "rules", "cases.yml"]] {
        let ran = Command::new(programs.join("promtool")).args(arguments).current_dir(folder.path()).output();
        let ran = ran.expect("promtool");
        let text = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{arguments:?}: {text}");
    }
}

#[test]
fn alerts_and_board_use_documented_metrics() {
    let page = read("docs/telemetry.md");
    let used = board_queries().join("\n") + &read(&format!("{FILES}/prometheus-alerts.yml"));
    let names: BTreeSet<&str> = used
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| ["mcp_", "gatehouse_", "process_"].iter().any(|start| word.starts_with(start)))
        .filter(|word| !["mcp_method_name"].contains(word))
        .map(|word| {
            ["_bucket", "_count", "_sum"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word)
        })
        .collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("`{name}`")), "docs/telemetry.md does not explain {name}");
    }
}

struct Prometheus {
    child: Child,
    base: String,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    fn start(programs: &std::path::Path, target: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = json!({
            "global": {"scrape_interval": "1s"},
            "rule_files": [repository().join(FILES).join("prometheus-alerts.yml")],
            "scrape_configs": [{"job_name": "gatehouse", "static_configs": [{"targets": [target]}]}],
        });
        // JSON is YAML, too.
        let file = folder.path().join("prometheus.yml");
        fs::write(&file, config.to_string()).expect("written");
        // Prometheus does not say which port it took.
        let free =
            TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
        let child = Command::new(programs.join("prometheus"))
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={free}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("prometheus");
        Self { child, base: format!("http://{free}"), _folder: folder }
    }

    /// Returns the answer to a query. `None` before Prometheus listens.
    fn query(&self, query: &str) -> Option<Value> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        let url = format!("{}/api/v1/query", self.base);
        let mut response = agent.get(url).query("query", query).call().ok()?;
        serde_json::from_str(&response.body_mut().read_to_string().ok()?).ok()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn every_query_of_the_board_works_on_what_a_host_says() {
    let Some(programs) = programs() else { return };
    let (place, _calls) = place(ADMIN);
    let host = Http::start(&place, "all", &[]);
    let session = host.session("/mcp", &[]);
    wait_for_server(&host, &session);
    let metrics = metrics_of(&host);
    assert_eq!(get(&metrics, &[]).0, 200);
    let target = metrics.trim_start_matches("http://").trim_end_matches("/metrics");
    let prometheus = Prometheus::start(&programs, target);
    let value = |query: &str| {
        let answer = prometheus.query(query)?;
        answer["data"]["result"][0]["value"][1].as_str()?.parse::<f64>().ok()
    };
    let start = Instant::now();
    let calls = "sum(rate(mcp_server_operation_duration_seconds_count{mcp_method_name=\"tools/call\"}[1m]))";
    // A rate needs two scrapes with different counts.
    while value(calls).is_none_or(|rate| rate == 0.0) {
        assert!(start.elapsed() < PATIENCE, "Prometheus has no calls: {:?}", prometheus.query("up"));
        call(&host, &session, "many__look", json!({}));
    }
    for query in board_queries() {
        let answer = prometheus.query(&query).expect("an answer");
        assert_eq!(answer["status"], "success", "{query}: {answer}");
    }
    for query in
        ["up", "gatehouse_instances", "gatehouse_http_max_connections", "process_resident_memory_bytes"]
    {
        assert!(value(query).is_some(), "{query}");
    }
}
