//! The export of traces to a collector, as the variables of OpenTelemetry say.

use std::sync::Arc;

use gatehouse_core::names::quoted;
use gatehouse_net::{HttpClients, Url, exchange};
use gatehouse_telemetry::TraceExport;

use crate::{config::Env, plain_error::PlainError, telemetry::replica_name};

const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";

const SAMPLERS: [&str; 6] = [
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
];

/// Begins the export. `None` if no collector is named.
///
/// # Errors
/// The variable that has a value which cannot be used. The SDK would ignore it.
pub(crate) fn start(env: &Env) -> Result<Option<TraceExport>, PlainError> {
    if !is_wanted(env)? {
        return Ok(None);
    }
    let clients = Arc::new(HttpClients::default());
    let send = move |request| {
        let clients = Arc::clone(&clients);
        Box::pin(async move { exchange(&clients, request).await }) as _
    };
    let service = env.get("OTEL_SERVICE_NAME").unwrap_or("gatehouse").to_owned();
    TraceExport::start(env!("CARGO_PKG_VERSION"), replica_name(), service, Arc::new(send))
        .map(Some)
        .map_err(Into::into)
}

/// Checks the variables. Returns whether they name a collector.
fn is_wanted(env: &Env) -> Result<bool, PlainError> {
    let invalid = |name: &str, value: &str, expected: &str| {
        PlainError::from(format!("invalid value for {name}: '{}'; expected {expected}", quoted(value, 200)))
    };
    if env.get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Ok(false);
    }
    match env.get("OTEL_TRACES_EXPORTER") {
        None | Some("otlp") => {}
        Some("none") => return Ok(false),
        Some(other) => return Err(invalid("OTEL_TRACES_EXPORTER", other, "otlp or none")),
    }
    let Some((name, endpoint)) = ENDPOINTS.iter().find_map(|name| Some((name, env.get(name)?))) else {
        return Ok(false);
    };
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https");
    if Url::parse(endpoint).ok().filter(is_http).is_none() {
        return Err(invalid(name, endpoint, "a URL such as http://127.0.0.1:4318"));
    }
    if let Some((name, protocol)) = PROTOCOLS.iter().find_map(|name| Some((name, env.get(name)?)))
        && protocol != "http/protobuf"
    {
        return Err(invalid(name, protocol, "http/protobuf, which collectors accept at port 4318"));
    }
    if let Some(sampler) = env.get(SAMPLER) {
        if !SAMPLERS.contains(&sampler) {
            return Err(invalid(SAMPLER, sampler, &SAMPLERS.join(", ")));
        }
        let argument = env.get(SAMPLER_ARGUMENT).unwrap_or_default();
        let is_ratio = argument.parse().is_ok_and(|ratio: f64| (0.0..=1.0).contains(&ratio));
        if sampler.ends_with("traceidratio") && !is_ratio {
            return Err(invalid(SAMPLER_ARGUMENT, argument, "a ratio such as 0.1"));
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted<const N: usize>(pairs: [(&'static str, &str); N]) -> Result<bool, String> {
        is_wanted(&Env::from_pairs(pairs)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_collector_is_named_by_its_url() {
        assert_eq!(wanted([]), Ok(false));
        assert_eq!(wanted([("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")]), Ok(true));
        let both = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318"), ("OTEL_SDK_DISABLED", "true")];
        assert_eq!(wanted(both), Ok(false));
    }

    #[test]
    fn what_the_exporter_would_ignore_is_an_error() {
        let url = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        for (name, value, reason) in [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "127.0.0.1:4318", "a URL such as"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "http/protobuf"),
            ("OTEL_TRACES_SAMPLER", "sometimes", "always_on, "),
            ("OTEL_TRACES_SAMPLER", "traceidratio", "a ratio"),
            ("OTEL_TRACES_EXPORTER", "zipkin", "otlp or none"),
        ] {
            let refused = wanted([url, (name, value)]).expect_err(name);
            assert!(refused.starts_with("invalid value for OTEL_") && refused.contains(reason), "{refused}");
        }
    }
}
