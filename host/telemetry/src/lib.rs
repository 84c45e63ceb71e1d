//! Metrics and traces of the host, for operators. Each crate records what it knows in [`metrics`], and `/metrics` shows
//! them all. A [`Trace`] is passed along with a call.
//!
//! Nothing is recorded unless the host has a listener for operators, or a collector of traces.

mod call_lines;
mod export;
mod labeled;
mod process;
mod trace;

use std::sync::{
    Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use prometheus_client::{
    encoding::prometheus_text,
    metrics::{counter::Counter, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

pub use call_lines::{CallLabels, call_labels, with_call_labels};
pub use export::{SendRequest, TraceExport};
pub use labeled::{LabeledMetric, MetricKind, OTHER};
pub use prometheus_text::CONTENT_TYPE;
pub use trace::{RemoteTrace, SpanKind, Trace, is_tracing};

static METRICS: OnceLock<Metrics> = OnceLock::new();

/// Returns the metrics. `None` if the host has no listener for operators.
pub fn metrics() -> Option<&'static Metrics> {
    METRICS.get()
}

/// Begins to record, and returns the metrics.
pub fn start() -> &'static Metrics {
    METRICS.get_or_init(Metrics::new)
}

/// Records a use of a cache, and whether it had the value.
pub fn record_cache_use(cache: &str, is_hit: bool) {
    if let Some(metrics) = metrics() {
        metrics.cache_uses.series([cache, if is_hit { "hit" } else { "miss" }]).inc();
    }
}

/// Declares the metrics: for each its description, the type, the name without `_total`, and the labels.
macro_rules! metrics {
    ($($(#[doc = $about:literal])+ $field:ident: $kind:ty = $name:literal [$($label:literal),*];)+) => {
        /// Names of all metrics, without the `_total` of counters.
        #[cfg(test)]
        const NAMES: &[&str] = &[$($name),*];

        /// All metrics of the host. Times are in seconds, sizes in bytes.
        pub struct Metrics {
            $($(#[doc = $about])+ pub $field: LabeledMetric<$kind, { <[&str]>::len(&[$($label),*]) }>,)+
            registry: Registry,
            refreshers: Mutex<Vec<Box<dyn Fn(&Metrics) + Send + Sync>>>,
        }

        impl Metrics {
            fn new() -> Self {
                let mut registry = Registry::default();
                Self {
                    $($field: LabeledMetric::register(&mut registry, $name, concat!($($about),+).trim(), [$($label),*]),)+
                    registry,
                    refreshers: Mutex::default(),
                }
            }
        }
    };
}

metrics! {
    /// Time from a request of a client to its response
    server_operations: Histogram = "mcp_server_operation_duration_seconds"
        ["mcp_method_name", "gen_ai_tool_name", "error_type", "network_transport", "mcp_protocol_version"];
    /// Time from a request to an MCP server to its response
    client_operations: Histogram = "mcp_client_operation_duration_seconds"
        ["mcp_method_name", "gen_ai_tool_name", "error_type", "network_transport", "server"];
    /// Calls of tools, also by other tools, by their source and outcome
    calls: Counter = "gatehouse_calls" ["source", "outcome"];
    /// Time that calls waited for a gate and an instance
    gate_wait: Histogram = "gatehouse_gate_wait_seconds" ["gate"];
    /// Instances of gates that run
    instances: Gauge = "gatehouse_instances" [];
    /// Instances of gates that may run at the same time
    max_instances: Gauge = "gatehouse_max_instances" [];
    /// Questions to users about a call, by answer
    approvals: Counter = "gatehouse_approvals" ["outcome"];
    /// Estimated tokens that filters took out of replies
    tokens_saved: Counter = "gatehouse_tokens_saved" ["filter"];
    /// Calls that quotas counted
    quota_calls: Counter = "gatehouse_quota_calls" ["quota"];
    /// Tokens that quotas counted
    quota_tokens: Counter = "gatehouse_quota_tokens" ["quota"];
    /// Calls that quotas refused
    quota_refusals: Counter = "gatehouse_quota_refusals" ["quota"];
    /// Time from the start of a session of a client over HTTP to its end
    server_sessions: Histogram = "mcp_server_session_duration_seconds"
        ["network_transport", "mcp_protocol_version"];
    /// Time from the start of a connection to a server to its end
    client_sessions: Histogram = "mcp_client_session_duration_seconds" ["network_transport", "server"];
    /// 1 if the circuit breaker of a server is open, else 0
    open_circuits: Gauge = "gatehouse_circuit_open" ["server"];
    /// Uses of a cache, by whether it had the value
    cache_uses: Counter = "gatehouse_cache_uses" ["cache", "result"];
    /// Connections of clients
    connections: Gauge = "gatehouse_http_connections" [];
    /// Connections of clients that may be open
    max_connections: Gauge = "gatehouse_http_max_connections" [];
    /// Responses to clients with a status of 400 or more
    http_errors: Counter = "gatehouse_http_errors" ["status"];
    /// Presets, by whether they are served
    presets: Gauge = "gatehouse_presets" ["state"];
    /// Changes of presets.toml, of gates and of the lists of servers that were put into use
    reloads: Counter = "gatehouse_reloads" [];
    /// 1 for `presets.toml`, and each gate, whose file is not the version in use
    outdated: Gauge = "gatehouse_outdated" ["file"];
    /// Calls that are missing from the ledger
    ledger_losses: Counter = "gatehouse_ledger_losses" [];
    /// Entries that are missing from the audit
    audit_losses: Counter = "gatehouse_audit_losses" [];
    /// Spans that were not sent to the collector
    span_losses: Counter = "gatehouse_span_losses" [];
    /// Lines that the log dropped because they were not read in time
    log_losses: Counter = "gatehouse_log_losses" [];
    /// 1, with the version of the host
    build_info: Gauge = "gatehouse_build_info" ["version"];
    /// Time at which the process started, in seconds since 1970
    process_start: Gauge<f64, AtomicU64> = "process_start_time_seconds" [];
    /// Time that the processor spent on the process
    process_cpu: Counter<f64, AtomicU64> = "process_cpu_seconds" [];
    /// Memory of the process that is resident
    process_memory: Gauge = "process_resident_memory_bytes" [];
    /// File descriptors that the process has open
    process_files: Gauge = "process_open_fds" [];
    /// File descriptors that the process may open
    process_max_files: Gauge = "process_max_fds" [];
}

impl Metrics {
    /// Calls `refresh` before each scrape, for what is only read then.
    pub fn on_scrape(&self, refresh: impl Fn(&Self) + Send + Sync + 'static) {
        self.refreshers.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(refresh));
    }

    /// Sets a counter that is kept elsewhere.
    pub fn set_counter(counter: &LabeledMetric<Counter, 0>, value: u64) {
        counter.series([]).inner().store(value, Ordering::Relaxed);
    }

    /// Returns all metrics in the text format of Prometheus, of the type [`CONTENT_TYPE`].
    pub fn text(&self) -> String {
        // Until the end, so that another scrape does not remove series from this one.
        let refreshers = self.refreshers.lock().unwrap_or_else(PoisonError::into_inner);
        refreshers.iter().for_each(|refresh| refresh(self));
        process::refresh(self);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = prometheus_text::encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_explained() {
        let page = include_str!("../../../docs/telemetry.md");
        for name in NAMES {
            let is_explained =
                page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}_total`"));
            assert!(is_explained, "docs/telemetry.md does not explain {name}");
        }
    }

    #[test]
    fn what_is_recorded_is_shown() {
        let metrics = Metrics::new();
        metrics.server_operations.series(["tools/call", "a\"b", "", "tcp", "2026-07-28"]).observe(0.0004);
        metrics.ledger_losses.series([]).inc_by(2);
        metrics.on_scrape(|metrics| {
            metrics.connections.series([]).set(7);
        });
        let text = metrics.text();
        for line in [
            "# TYPE mcp_server_operation_duration_seconds histogram",
            "mcp_server_operation_duration_seconds_bucket{mcp_method_name=\"tools/call\",gen_ai_tool_name=\"a\\\"b\",error_type=\"\",network_transport=\"tcp\",mcp_protocol_version=\"2026-07-28\",le=\"0.0005\"} 1",
            "gatehouse_ledger_losses_total 2",
            "gatehouse_http_connections 7",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line}\n{text}");
        }
        let is_shown = |name: &str| text.lines().any(|line| line.starts_with(name));
        assert!(
            is_shown("process_resident_memory_bytes ") && is_shown("process_cpu_seconds_total "),
            "{text}"
        );
        assert!(super::metrics().is_none(), "nothing is recorded before the start");
    }
}
