//! The clients: made on first use, because the root certificates take milliseconds to read. They differ in
//! which addresses they connect to, so a connection that one opened never serves the other's requests.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use gatehouse_core::{
    Fault,
    http::{Permit, Reach},
    names::quoted,
};
use reqwest::{Client, redirect::Policy};

use super::resolver::{Lookup, Resolver};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);

/// Idle connections that are kept for a host.
const IDLE_PER_HOST: usize = 8;

pub(super) struct Clients {
    lookup: Lookup,
    /// By reach, then plain or with TLS.
    made: [[OnceLock<Client>; 2]; 2],
}

impl Clients {
    pub(super) fn new(lookup: Lookup) -> Self {
        Self { lookup, made: Default::default() }
    }

    /// The client for a URL that is allowed.
    pub(super) fn of(&self, permit: &Permit<'_>) -> Result<&Client, Fault> {
        let tls = permit.url.scheme() == "https";
        let made = &self.made[usize::from(permit.reach == Reach::Any)][usize::from(tls)];
        if let Some(client) = made.get() {
            return Ok(client);
        }
        let client = self.make(permit.reach, tls).map_err(|error| {
            Fault::unavailable(format!("TLS cannot be had on this machine: {}.", quoted(&root(&error), 200)))
                .hint("Install the root certificates of the system (the package ca-certificates as a rule).")
        })?;
        Ok(made.get_or_init(|| client))
    }

    fn make(&self, reach: Reach, tls: bool) -> reqwest::Result<Client> {
        // Fails only where a provider is set already, which then is the one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = Client::builder()
            .user_agent(concat!("gatehouse/", env!("CARGO_PKG_VERSION")))
            // A proxy of the environment would resolve names itself, beyond our resolver.
            .no_proxy()
            // Followed hop by hop, each under the rules.
            .redirect(Policy::none())
            .referer(false)
            // What may be repeated is for the gate and the pipeline to say.
            .retry(reqwest::retry::never())
            .dns_resolver(Resolver::new(reach, Arc::clone(&self.lookup)))
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(IDLE_PER_HOST)
            .http1_only();
        // Plain HTTP needs no certificates, and works on machines that have none.
        if tls { builder.build() } else { builder.tls_certs_only([]).build() }
    }
}

/// What an error comes from.
pub(super) fn root(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
