//! The HTTP clients, one with TLS and one without: made on first use, because the root certificates take
//! milliseconds to read, and shared by all providers.

use std::{error::Error, sync::OnceLock, time::Duration};

use gatehouse_core::{Fault, names::quoted};
use reqwest::redirect::Policy;
use url::Url;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Makes a client when one is needed.
#[derive(Default)]
pub(crate) struct Client {
    made: [OnceLock<reqwest::Client>; 2],
}

impl Client {
    /// The client for a URL.
    pub(super) fn of(&self, url: &Url) -> Result<&reqwest::Client, Fault> {
        let tls = url.scheme() == "https";
        let made = &self.made[usize::from(tls)];
        if let Some(client) = made.get() {
            return Ok(client);
        }
        let client = make(tls).map_err(|error| {
            Fault::unavailable(format!("TLS cannot be had on this machine: {}.", quoted(&root(&error), 200)))
                .hint("Install the root certificates of the system (the package ca-certificates as a rule).")
        })?;
        Ok(made.get_or_init(|| client))
    }
}

fn make(tls: bool) -> reqwest::Result<reqwest::Client> {
    // Fails only where a provider is set already, which then is the one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder()
        .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
        // Its variables are not among those that the host reads.
        .no_proxy()
        // A redirect would carry the key to somebody else.
        .redirect(Policy::none())
        .referer(false)
        // What is repeated, and when, is decided in one place.
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .http1_only();
    // Plain HTTP needs no certificates, and works on machines that have none.
    if tls { builder.build() } else { builder.tls_certs_only([]).build() }
}

/// What an error comes from.
pub(super) fn root(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
