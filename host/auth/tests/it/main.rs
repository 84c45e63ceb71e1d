//! The authenticator with a store in memory and an issuer on loopback.

mod keys;
mod support;
