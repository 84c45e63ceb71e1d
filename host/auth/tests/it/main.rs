//! The authenticator with a store in memory and an issuer on loopback.

#![allow(clippy::print_stderr, reason = "a skipped test prints the reason")]

mod attacks;
mod introspection;
mod issuer_down;
mod keys;
mod oidc;
mod support;
mod tokens;
