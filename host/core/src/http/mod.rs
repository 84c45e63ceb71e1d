//! HTTP access rules for gates, from presets.toml. Nothing here opens a socket.
//!
//! A URL is parsed once, by the WHATWG rules. The rules compare the parsed URL and the client connects to the same one,
//! so a second parser cannot arrive at another host.

pub mod address;
mod escapes;
pub mod header;
pub mod host_pattern;
pub mod redact;
pub mod rules;
pub mod secret;
#[cfg(test)]
mod tests;

pub use host_pattern::HostPattern;
pub use redact::Redactor;
pub use rules::{AddressScope, AllowedUrl, HostRule, HttpRules};
pub use secret::{Secret, SecretTemplate, is_token};
