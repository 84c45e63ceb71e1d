//! Vectors of artifacts in one ChromaDB collection, which hosts and stores share. All other data stays in the artifact
//! engine, and the vectors can be recomputed.

mod client;
mod vectors;

use std::time::Duration;

use gatehouse_core::{Fault, names::quoted};
use url::Url;

pub(crate) use self::vectors::ArtifactsInChroma;

#[derive(Debug, Clone)]
pub struct ChromaConfig {
    /// The path ends with `/`.
    base: Url,
    /// Timeout of a request and its response. A search that takes longer uses words only.
    pub request: Duration,
    /// First and longest pause after a connection failure. Each pause is twice as long as the previous one.
    pub pauses: (Duration, Duration),
}

impl ChromaConfig {
    /// Parses a URL such as `http://localhost:8000`, optionally with a path.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let hint = "Set MCP_GATEWAY_CHROMA_URL to http://host:port.";
        let refused = |why: &str| {
            // Do not show credentials.
            let shown = if text.contains('@') { String::new() } else { format!(" '{}'", quoted(text, 80)) };
            Fault::invalid(format!("MCP_GATEWAY_CHROMA_URL{shown} cannot be used: {why}")).hint(hint)
        };
        let mut base = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if !["http", "https"].contains(&base.scheme()) {
            return Err(refused("its scheme is not one of http, https"));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(refused("it holds credentials"));
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(refused("it has a query or a fragment"));
        }
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let pauses = (Duration::from_secs(1), Duration::from_secs(30));
        Ok(Self { base, request: Duration::from_secs(3), pauses })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_addresses_are_read_and_others_rejected() {
        let base = |text: &str| ChromaConfig::parse(text).map(|config| config.base.to_string());
        assert_eq!(base("http://localhost:8000"), Ok("http://localhost:8000/".into()));
        assert_eq!(base("https://x/under"), Ok("https://x/under/".into()));
        let fault = |text: &str| base(text).expect_err("refused").message;
        assert!(fault("localhost").starts_with("MCP_GATEWAY_CHROMA_URL 'localhost' cannot be used: "));
        assert!(fault("ftp://x").contains("its scheme is not one of http, https"));
        assert_eq!(
            fault("http://me:s3cret@x"),
            "MCP_GATEWAY_CHROMA_URL cannot be used: it holds credentials"
        );
        assert!(fault("http://x/?a=b").contains("a query"));
    }
}
