//! HTTP clients, bounded response bodies and root causes of errors.
//!
//! Clients are created on first use: loading root certificates takes milliseconds, and plain HTTP must work on machines
//! without certificates. Body limits do not trust `Content-Length`.

use std::{error::Error, io, sync::OnceLock, time::Duration};

use bytes::Bytes;
use gatehouse_core::{Fault, names::quoted};
use reqwest::{Client, ClientBuilder, Response, Url, redirect::Policy, retry};

use crate::install_crypto;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

type ConfigureClient = dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync;

/// HTTP clients with the same configuration. They do not follow redirects, retry, send a referrer or use proxies from
/// the environment, because each of these can send a request that the caller did not intend.
pub struct HttpClients {
    configure: Box<ConfigureClient>,
    /// Without TLS, then with TLS.
    clients: [OnceLock<Client>; 2],
}

impl HttpClients {
    /// Creates clients with additional configuration, such as timeouts or a resolver.
    pub fn new(configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static) -> Self {
        Self { configure: Box::new(configure), clients: Default::default() }
    }

    /// Returns the client for a URL. Fails with `unavailable` if it needs TLS and the machine has no root certificates.
    pub fn for_url(&self, url: &Url) -> Result<&Client, Fault> {
        let tls = url.scheme() == "https";
        let cell = &self.clients[usize::from(tls)];
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = self.build(tls).map_err(|error| {
            let cause = quoted(&root_cause(&error), 200);
            Fault::unavailable(format!("TLS is not available on this machine: {cause}"))
                .hint("Install the system's root certificates, usually the package `ca-certificates`.")
        })?;
        Ok(cell.get_or_init(|| client))
    }

    fn build(&self, tls: bool) -> reqwest::Result<Client> {
        install_crypto();
        let builder = Client::builder()
            .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .retry(retry::never())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_only();
        let builder = (self.configure)(builder);
        if tls { builder.build() } else { builder.tls_certs_only([]).build() }
    }
}

impl Default for HttpClients {
    fn default() -> Self {
        Self::new(|builder| builder)
    }
}

/// Maximum time of an [`exchange`], with its body.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum bytes of the response of an [`exchange`].
const MAX_EXCHANGED: usize = 1 << 20;

/// Sends a request, and returns the response with its body.
///
/// # Errors
/// The reason, without the URL.
pub async fn exchange(
    clients: &HttpClients,
    request: http::Request<Bytes>,
) -> Result<http::Response<Bytes>, String> {
    let request = reqwest::Request::try_from(request).map_err(http_cause)?;
    let client = clients.for_url(request.url()).map_err(|fault| fault.in_one_line())?;
    let exchanged = async {
        let response = client.execute(request).await.map_err(http_cause)?;
        let status = response.status();
        let body = read_body(response, MAX_EXCHANGED).await.map_err(|error| format!("{error:?}"))?;
        let mut answer = http::Response::new(body.into());
        *answer.status_mut() = status;
        Ok(answer)
    };
    let late = |_| format!("no response within {} s", EXCHANGE_TIMEOUT.as_secs());
    tokio::time::timeout(EXCHANGE_TIMEOUT, exchanged).await.map_err(late)?
}

#[derive(Debug)]
pub enum BodyError {
    TooLarge,
    Stopped,
    /// Carries the error without the URL, and the number of bytes that were read.
    Broken(reqwest::Error, usize),
}

/// Reads a body of at most `limit` bytes.
pub async fn read_body(response: Response, limit: usize) -> Result<Vec<u8>, BodyError> {
    read_body_while(response, limit, |_| true).await
}

/// Like [`read_body`], but stops if `keep_reading` returns false for a chunk.
pub async fn read_body_while(
    mut response: Response,
    limit: usize,
    mut keep_reading: impl FnMut(&[u8]) -> bool,
) -> Result<Vec<u8>, BodyError> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Err(BodyError::TooLarge);
    }
    let mut body = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(body),
            Ok(Some(piece)) if body.len() + piece.len() > limit => return Err(BodyError::TooLarge),
            Ok(Some(piece)) if !keep_reading(&piece) => return Err(BodyError::Stopped),
            Ok(Some(piece)) => body.extend_from_slice(&piece),
            Err(error) => return Err(BodyError::Broken(error.without_url(), body.len())),
        }
    }
}

/// Returns the innermost error. The outer one ("error sending request") is not useful, and its URL may contain a
/// signature.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).last().unwrap_or(error).to_string()
}

/// Returns the root cause without the URL.
pub fn http_cause(error: reqwest::Error) -> String {
    root_cause(&error.without_url())
}

/// Returns the root cause in plain words if possible, without the OS error number.
pub fn plain_cause(error: &(dyn Error + 'static)) -> String {
    let io = |error: &(dyn Error + 'static)| plain_text(error.downcast_ref::<io::Error>()?.kind());
    chain(error).find_map(io).map_or_else(|| root_cause(error), str::to_owned)
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

fn plain_text(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "connection reset",
        io::ErrorKind::UnexpectedEof => "connection closed before the response was complete",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to host",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct RequestError(io::Error);

    impl std::fmt::Display for RequestError {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("error sending request")
        }
    }

    impl Error for RequestError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn root_causes_are_reported() {
        let refused = RequestError(io::Error::from_raw_os_error(111));
        assert_eq!(root_cause(&refused), "Connection refused (os error 111)");
        assert_eq!(plain_cause(&refused), "connection refused");
        assert_eq!(plain_cause(&RequestError(io::Error::other("odd"))), "odd");
    }
}
