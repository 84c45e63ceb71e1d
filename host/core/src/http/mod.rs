//! What a gate may ask the network for: rules made of presets.toml, and nothing that opens a socket.
//!
//! A URL is read once, by the WHATWG rules, and what was read is what is compared and connected to: no
//! second reading could come to another host.

pub mod address;
mod escapes;
pub mod header;
pub mod key;
pub mod redact;
pub mod rules;
pub mod secret;
#[cfg(test)]
mod tests;

pub use key::HostPattern;
pub use redact::Redactor;
pub use rules::{AddressScope, AllowedUrl, HostRule, HttpRules};
pub use secret::{Secret, SecretTemplate};
