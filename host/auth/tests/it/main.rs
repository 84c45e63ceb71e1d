//! The authenticator with a store in memory and an issuer on loopback.

mod attacks;
mod introspection;
mod issuer_down;
mod keys;
mod oidc;
mod support;
mod tokens;
