//! Remote servers: their addresses and errors, and a client for those with JSON over HTTP.
//!
//! After a connection failure, calls fail immediately with the same cause until the next try is due. The delay grows
//! with each failure and resets with a success, so a restart is not needed.

use std::time::Duration;

use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
    names::quoted,
};
use gatehouse_net::{
    Backoff, BodyError, CircuitBreaker, HttpClients, Method, StatusCode, header, plain_cause, read_body,
};
use serde_json::Value;
use url::Url;

const MAX_CAUSE_CHARS: usize = 300;

/// Maximum bytes of a response. The largest expected ones, 10,000 keys with scores or 200,000 ids, are smaller.
const MAX_ANSWER_BYTES: usize = 16 << 20;

pub(crate) struct RemoteServer {
    /// Name of the server in faults, such as `knowledge engine 'neo4j'`.
    subject: &'static str,
    address: String,
    hint: &'static str,
    redactor: Redactor,
    breaker: CircuitBreaker<String>,
}

impl RemoteServer {
    pub(crate) fn new(
        (subject, address, hint): (&'static str, String, &'static str),
        redactor: Redactor,
        (first, longest): (Duration, Duration),
    ) -> Self {
        let breaker = CircuitBreaker::new(Backoff { first, longest });
        Self { subject, address, hint, redactor, breaker }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Fails while the circuit breaker is open.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        self.breaker.check().map_err(|(cause, wait)| {
            let wait = wait.as_secs_f64().ceil();
            self.unavailable(&format!("{cause}; next try in {wait} s"))
        })
    }

    pub(crate) fn record_success(&self) {
        self.breaker.record_success();
    }

    pub(crate) fn record_failure(&self, cause: &str) -> Fault {
        self.breaker.record_failure(self.redact(cause));
        self.unavailable(cause)
    }

    pub(crate) fn unavailable(&self, cause: &str) -> Fault {
        let cause = self.redact(cause);
        Fault::unavailable(format!("{} at {}: {cause}", self.subject, self.address)).hint(self.hint)
    }

    /// Returns a fault that must not be retried.
    pub(crate) fn refused(&self, cause: &str, hint: &str) -> Fault {
        Fault { retryable: false, ..self.unavailable(cause).hint(hint) }
    }

    fn redact(&self, cause: &str) -> String {
        quoted(&self.redactor.redact_text(cause.to_owned()), MAX_CAUSE_CHARS)
    }
}

/// Client of a server with a JSON API. Requests have a timeout and responses a size limit.
pub(crate) struct HttpServer {
    pub(crate) remote: RemoteServer,
    base: Url,
    key: Option<Secret>,
    timeout: Duration,
    clients: HttpClients,
}

impl HttpServer {
    /// Creates a client without connecting. The path of `base` ends with `/`.
    pub(crate) fn new(
        (subject, base, hint): (&'static str, Url, &'static str),
        key: Option<Secret>,
        (connect, timeout): (Duration, Duration),
        pauses: (Duration, Duration),
    ) -> Self {
        let address = base.as_str().trim_end_matches('/').to_owned();
        let remote = RemoteServer::new((subject, address, hint), Redactor::new(&key), pauses);
        let clients = HttpClients::new(move |builder| builder.connect_timeout(connect));
        Self { remote, base, key, timeout, clients }
    }

    /// Sends a JSON request and returns the status and the response: JSON, null if it is empty, or the plain text of
    /// an error.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), Fault> {
        self.remote.check()?;
        let limit = self.timeout;
        let (status, bytes) = match tokio::time::timeout(limit, self.answer(method, path, body)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(cause)) => return Err(self.remote.record_failure(&cause)),
            Err(_) => return Err(self.remote.record_failure(&format!("no answer within {limit:?}"))),
        };
        self.remote.record_success();
        match serde_json::from_slice(&bytes) {
            Ok(answer) => Ok((status, answer)),
            Err(_) if bytes.is_empty() => Ok((status, Value::Null)),
            Err(_) if !status.is_success() => Ok((status, Value::from(String::from_utf8_lossy(&bytes)))),
            Err(error) => Err(self.malformed_answer(&format!("is not JSON: {error}"))),
        }
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Vec<u8>), String> {
        let url = self.base.join(path).map_err(|error| error.to_string())?;
        let client = self.clients.for_url(&url).map_err(|fault| fault.message)?;
        let mut request = client.request(method, url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.reveal());
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|error| plain_cause(&error))?;
        let status = response.status();
        let bytes = read_body(response, MAX_ANSWER_BYTES).await.map_err(|error| match error {
            BodyError::TooLarge | BodyError::Stopped => {
                format!("its answer is larger than {} MiB", MAX_ANSWER_BYTES >> 20)
            }
            BodyError::Broken(error, _) => plain_cause(&error),
        })?;
        Ok((status, bytes))
    }

    pub(crate) fn unexpected_answer(&self, status: StatusCode, answer: &Value) -> Fault {
        self.remote.unavailable(&format!("it answered {status}: {}", error_message(answer)))
    }

    pub(crate) fn malformed_answer(&self, what: &str) -> Fault {
        self.remote.unavailable(&format!("its answer {what}; it may be another kind of server"))
    }
}

/// Extracts the message from an error response: `{"error":[{"message":…}]}`, `{"errors":[…]}`, `{"message":…}` or plain
/// text.
pub(crate) fn error_message(answer: &Value) -> String {
    let messages = |list: &Value| {
        let texts = list.as_array().into_iter().flatten().filter_map(|error| error.get("message")?.as_str());
        let texts: Vec<&str> = texts.take(3).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    };
    let lists = ["error", "errors"].iter().find_map(|name| messages(answer.get(name)?));
    let message = || answer.get("message").unwrap_or(answer).as_str().map(str::to_owned);
    lists.or_else(message).unwrap_or_else(|| "no reason given".into())
}

/// Parses the address of a server, whose path then ends with `/`.
///
/// # Errors
/// `invalid-arguments` with the name of the variable. Quotes the value only if it contains no credentials; `login` is
/// the hint in that case.
pub(crate) fn http_url(variable: &str, text: &str, login: &str) -> Result<Url, Fault> {
    let mut url = server_url(variable, text, &["http", "https"], login)?;
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url)
}

/// Like [`http_url`], for other schemes.
pub(crate) fn server_url(variable: &str, text: &str, schemes: &[&str], login: &str) -> Result<Url, Fault> {
    let hint = format!("Set {variable} to a URL such as {}://host:port.", schemes[0]);
    let quoted_text = quoted(text, 80);
    let url = Url::parse(text).map_err(|error| {
        let value = if text.contains('@') { String::new() } else { format!(" '{quoted_text}'") };
        Fault::invalid(format!("{variable}{value} is not a URL: {error}")).hint(hint.clone())
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::invalid(format!("{variable} must not contain credentials")).hint(login));
    }
    let wrong = if !schemes.contains(&url.scheme()) {
        format!("the scheme must be one of {}", schemes.join(", "))
    } else if url.host_str().is_none_or(str::is_empty) {
        "the host is missing".to_owned()
    } else if url.query().is_some() || url.fragment().is_some() {
        "a query or a fragment is not allowed".to_owned()
    } else {
        return Ok(url);
    };
    Err(Fault::invalid(format!("invalid {variable} '{quoted_text}': {wrong}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use gatehouse_core::FaultKind;

    use super::*;

    fn server() -> RemoteServer {
        let pauses = (Duration::from_secs(1), Duration::from_secs(4));
        let redactor = Redactor::new([&Secret::new("s3cret-password")]);
        let about = ("knowledge engine 'neo4j'", "bolt://localhost:7687".into(), "Start it.");
        RemoteServer::new(about, redactor, pauses)
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_it_is_left_alone_for_a_while() {
        let server = server();
        assert!(server.check().is_ok());
        server.record_failure("connection refused");
        let fault = server.check().expect_err("left alone");
        assert_eq!(fault.kind, FaultKind::Unavailable);
        assert_eq!(
            fault.message,
            "knowledge engine 'neo4j' at bolt://localhost:7687: connection refused; next try in 1 s"
        );
        server.record_success();
        assert!(server.check().is_ok());
    }

    #[test]
    fn credentials_never_show() {
        let fault = server().unavailable("login with s3cret-password\nfailed");
        assert!(fault.message.ends_with("login with [redacted] failed"), "{}", fault.message);
    }

    #[test]
    fn a_rejected_address_names_its_variable_without_the_password() {
        let url = |text: &str| http_url("X_URL", text, "Set X_KEY.");
        assert_eq!(url("http://localhost:8081/under").expect("an address").path(), "/under/");
        let fault = |text: &str| url(text).expect_err("refused").message;
        assert!(fault("localhost").starts_with("X_URL 'localhost' is not a URL"));
        assert!(fault("ftp://x").contains("the scheme must be one of http, https"));
        assert_eq!(fault("http://me:s3cret@x"), "X_URL must not contain credentials");
        assert!(!fault("http://me:s3cret@[").contains("s3cret"));
        assert!(fault("http://x/?a=b").contains("a query"));
        let fault = server_url("X_URI", "bolt://", &["bolt"], "").expect_err("refused").message;
        assert!(fault.contains("the host is missing"), "{fault}");
    }
}
