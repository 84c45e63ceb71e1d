//! The outbound kit: how every part of the host makes HTTP clients and TLS connections, reads what comes back, words
//! what went wrong, and pauses before it tries again.
//!
//! It is the only crate that knows the HTTP client and the TLS library. It decides nothing about who may be spoken to,
//! what is sent, and what an answer means; whoever uses it does.

mod backoff;
mod body;
mod client;
mod error;
mod tls;

pub use backoff::{Backoff, CircuitBreaker};
pub use body::{BodyError, read_body, read_body_while};
pub use client::HttpClients;
pub use error::{http_cause, plain_cause, root_cause};
pub use reqwest::{
    Body, Client, ClientBuilder, Error, Method, Request, RequestBuilder, Response, StatusCode, Url, dns,
    header,
};
pub use tls::{TrustRoots, install_crypto, random_bytes, tls_config};
