//! HTTP clients, created on first use: loading root certificates takes milliseconds, and plain HTTP must work on
//! machines without certificates.

use std::{sync::OnceLock, time::Duration};

use gatehouse_core::{Fault, names::quoted};
use reqwest::{Client, ClientBuilder, Url, redirect::Policy, retry};

use crate::{install_crypto, root_cause};

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
        let made = &self.clients[usize::from(tls)];
        if let Some(client) = made.get() {
            return Ok(client);
        }
        let client = self.build(tls).map_err(|error| {
            let cause = quoted(&root_cause(&error), 200);
            Fault::unavailable(format!("TLS is not available on this machine: {cause}"))
                .hint("Install the system's root certificates, usually the package `ca-certificates`.")
        })?;
        Ok(made.get_or_init(|| client))
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
