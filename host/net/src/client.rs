//! HTTP clients, one with TLS and one without: made on first use, because the root certificates take milliseconds to
//! read, and because plain HTTP works on machines that have none.

use std::{sync::OnceLock, time::Duration};

use gatehouse_core::{Fault, names::quoted};
use reqwest::{Client, ClientBuilder, Url, redirect::Policy, retry};

use crate::{install_crypto, root_cause};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

type ConfigureClient = dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync;

/// Clients of one kind. They follow no redirect, repeat nothing, take no proxy from the environment and say no more
/// than that they are Gatehouse: each of these would send something where, or when, nobody decided to.
pub struct HttpClients {
    configure: Box<ConfigureClient>,
    /// Plain, and with TLS.
    clients: [OnceLock<Client>; 2],
}

impl HttpClients {
    /// With what this kind has of its own: time-outs, limits of its pool, a resolver.
    pub fn new(configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static) -> Self {
        Self { configure: Box::new(configure), clients: Default::default() }
    }

    /// The client for a URL.
    ///
    /// # Errors
    /// `unavailable` where the URL wants TLS and this machine has no root certificates.
    pub fn for_url(&self, url: &Url) -> Result<&Client, Fault> {
        let tls = url.scheme() == "https";
        let made = &self.clients[usize::from(tls)];
        if let Some(client) = made.get() {
            return Ok(client);
        }
        let client = self.build(tls).map_err(|error| {
            let cause = quoted(&root_cause(&error), 200);
            Fault::unavailable(format!("TLS cannot be had on this machine: {cause}."))
                .hint("Install the root certificates of the system (the package ca-certificates as a rule).")
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
