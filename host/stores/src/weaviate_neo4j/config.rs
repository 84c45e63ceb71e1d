//! Addresses, credentials and timeouts of both servers. Addresses are validated before any connection.

use std::time::Duration;

use gatehouse_core::{Fault, http::Secret, names::quoted};
use url::Url;

#[derive(Debug, Clone)]
pub struct WeaviateNeo4jConfig {
    /// `http` or `https` URL such as `http://localhost:8081`, optionally with a path.
    pub weaviate_url: String,
    pub weaviate_api_key: Option<Secret>,
    /// URL such as `bolt://localhost:7687`. Schemes: `bolt`, `bolt+s`, `bolt+ssc`, and the same with `neo4j`.
    pub neo4j_uri: String,
    pub neo4j_user: String,
    pub neo4j_password: Secret,
    /// Database name. `None` uses the default database of the account.
    pub neo4j_database: Option<String>,
    pub timing: RemoteTimeouts,
}

#[derive(Debug, Clone, Copy)]
pub struct RemoteTimeouts {
    /// Time to connect to either server, and to begin a transaction in Neo4j.
    pub connect: Duration,
    pub request: Duration,
    pub statement: Duration,
    /// Delay after the first failure. Doubles with each failure.
    pub first_pause: Duration,
    pub longest_pause: Duration,
    /// Time until another host can take over the delivery of pages to Weaviate. Renewed during delivery.
    pub lease: Duration,
}

impl Default for RemoteTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(20),
            statement: Duration::from_secs(60),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
            lease: Duration::from_secs(60),
        }
    }
}

const BOLT: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

impl WeaviateNeo4jConfig {
    /// Returns the address and the database for index files and messages.
    ///
    /// # Errors
    ///
    /// Returns `invalid-arguments` with the name of the variable if the address is invalid.
    pub fn neo4j_address(&self) -> Result<String, Fault> {
        let address = self.neo4j()?;
        let address = address.as_str().trim_end_matches('/');
        Ok(match &self.neo4j_database {
            Some(name) => format!("{address}/{name}"),
            None => address.to_owned(),
        })
    }

    /// Returns the address of Weaviate, whose path ends with `/`.
    pub(super) fn weaviate(&self) -> Result<Url, Fault> {
        let mut url = parsed("WEAVIATE_URL", &self.weaviate_url, &["http", "https"])?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url)
    }

    pub(super) fn neo4j(&self) -> Result<Url, Fault> {
        let url = parsed("NEO4J_URI", &self.neo4j_uri, &BOLT)?;
        if !matches!(url.path(), "" | "/") {
            return Err(Fault::invalid("NEO4J_URI must not have a path")
                .hint("Set NEO4J_DATABASE to the name of the database."));
        }
        Ok(url)
    }
}

/// Parses an address without credentials. Errors quote the value only if it contains none.
fn parsed(variable: &str, text: &str, schemes: &[&str]) -> Result<Url, Fault> {
    let hint = format!("Set {variable} to a URL such as {}://host:port.", schemes[0]);
    let shown = quoted(text, 80);
    let url = Url::parse(text).map_err(|error| {
        let value = if text.contains('@') { String::new() } else { format!(" '{shown}'") };
        Fault::invalid(format!("{variable}{value} is not a URL: {error}")).hint(hint.clone())
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::invalid(format!("{variable} must not contain credentials"))
            .hint("Set NEO4J_USER and NEO4J_PASSWORD, or WEAVIATE_API_KEY."));
    }
    let wrong = if !schemes.contains(&url.scheme()) {
        format!("the scheme must be one of {}", schemes.join(", "))
    } else if url.host_str().is_none_or(str::is_empty) {
        "the host is missing".to_owned()
    } else if url.query().is_some() || url.fragment().is_some() {
        "a query or a fragment is not allowed".to_owned()
    } else {
        return Ok(url);
    };
    Err(Fault::invalid(format!("invalid {variable} '{shown}': {wrong}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(weaviate: &str, neo4j: &str) -> WeaviateNeo4jConfig {
        WeaviateNeo4jConfig {
            weaviate_url: weaviate.into(),
            weaviate_api_key: None,
            neo4j_uri: neo4j.into(),
            neo4j_user: "neo4j".into(),
            neo4j_password: Secret::new("s3cret"),
            neo4j_database: None,
            timing: RemoteTimeouts::default(),
        }
    }

    #[test]
    fn addresses_are_read() {
        let config = config("http://localhost:8081/under", "bolt://localhost:7687");
        assert_eq!(config.weaviate().expect("an address").as_str(), "http://localhost:8081/under/");
        assert_eq!(config.neo4j().expect("an address").as_str(), "bolt://localhost:7687");
    }

    #[test]
    fn a_rejected_address_names_its_variable_without_the_password() {
        let fault = |weaviate: &str| config(weaviate, "bolt://x").weaviate().expect_err("refused").message;
        assert!(fault("localhost").starts_with("WEAVIATE_URL 'localhost' is not a URL"));
        assert!(fault("ftp://x").contains("the scheme must be one of http, https"));
        assert_eq!(fault("http://me:s3cret@x"), "WEAVIATE_URL must not contain credentials");
        assert!(!fault("http://me:s3cret@[").contains("s3cret"));
        assert!(fault("http://x/?a=b").contains("a query"));
        let fault = |neo4j: &str| config("http://x", neo4j).neo4j().expect_err("refused").message;
        assert!(fault("http://x:7474").contains("the scheme must be one of bolt"));
        assert!(fault("bolt://").contains("the host is missing"), "{}", fault("bolt://"));
        assert_eq!(fault("bolt://x/wiki"), "NEO4J_URI must not have a path");
    }
}
