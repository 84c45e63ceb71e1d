//! Where the two servers are and how long they may take. Addresses are checked before anything is opened.

use std::time::Duration;

use gatehouse_core::{Fault, http::Secret, names::quoted};
use url::Url;

/// How to reach Weaviate and Neo4j.
#[derive(Debug, Clone)]
pub struct WeaviateNeo4jConfig {
    /// `http://localhost:8081` for example; `http` or `https`, a path is kept.
    pub weaviate_url: String,
    /// Sent as a bearer token, where Weaviate wants one.
    pub weaviate_api_key: Option<Secret>,
    /// `bolt://localhost:7687` for example; also `bolt+s`, `bolt+ssc` and the same three with `neo4j`.
    pub neo4j_uri: String,
    /// The account in Neo4j.
    pub neo4j_user: String,
    /// Its password.
    pub neo4j_password: Secret,
    /// The database in Neo4j; none for the account's own.
    pub neo4j_database: Option<String>,
    /// How long things may take.
    pub timing: RemoteTimeouts,
}

/// How long things may take, and how long a server that failed is left alone.
#[derive(Debug, Clone, Copy)]
pub struct RemoteTimeouts {
    /// For a connection, and for each answer of Neo4j.
    pub connect: Duration,
    /// For one request to Weaviate, its answer included.
    pub request: Duration,
    /// For one statement in Neo4j with all its rows.
    pub statement: Duration,
    /// The first pause after a failure; each further one is twice as long.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// How long one host may bring pages to Weaviate before another one may take over; renewed with each batch.
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

/// Schemes of Bolt that the client speaks.
const BOLT: [&str; 6] = ["bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc"];

impl WeaviateNeo4jConfig {
    /// The graph in Neo4j as index files and messages name it: its address and its database.
    ///
    /// # Errors
    /// `invalid-arguments`, where the address cannot be used, naming its variable.
    pub fn neo4j_address(&self) -> Result<String, Fault> {
        let address = self.neo4j()?;
        let address = address.as_str().trim_end_matches('/');
        Ok(match &self.neo4j_database {
            Some(name) => format!("{address}/{name}"),
            None => address.to_owned(),
        })
    }

    /// Weaviate's address, with a path that ends in `/`.
    pub(super) fn weaviate(&self) -> Result<Url, Fault> {
        let mut url = parsed("WEAVIATE_URL", &self.weaviate_url, &["http", "https"])?;
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(url)
    }

    /// Neo4j's address.
    pub(super) fn neo4j(&self) -> Result<Url, Fault> {
        let url = parsed("NEO4J_URI", &self.neo4j_uri, &BOLT)?;
        if !matches!(url.path(), "" | "/") {
            return Err(Fault::invalid("NEO4J_URI has a path").hint("Name the database in NEO4J_DATABASE."));
        }
        Ok(url)
    }
}

/// An address without credentials. The variable is named; its value is shown only where it holds none.
fn parsed(variable: &str, text: &str, schemes: &[&str]) -> Result<Url, Fault> {
    let hint = format!("Write {variable} as {}://host:port.", schemes[0]);
    let shown = quoted(text, 80);
    let url = Url::parse(text).map_err(|error| {
        let value = if text.contains('@') { String::new() } else { format!(" '{shown}'") };
        Fault::invalid(format!("{variable}{value} is not an address: {error}")).hint(hint.clone())
    })?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Fault::invalid(format!("{variable} holds credentials"))
            .hint("Put them into NEO4J_USER and NEO4J_PASSWORD, or into WEAVIATE_API_KEY."));
    }
    let wrong = if !schemes.contains(&url.scheme()) {
        format!("its scheme is not one of {}", schemes.join(", "))
    } else if url.host_str().is_none_or(str::is_empty) {
        "it names no host".to_owned()
    } else if url.query().is_some() || url.fragment().is_some() {
        "it has a query or a fragment".to_owned()
    } else {
        return Ok(url);
    };
    Err(Fault::invalid(format!("{variable} '{shown}' cannot be used: {wrong}")).hint(hint))
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
    fn addresses_are_read_and_kept() {
        let config = config("http://localhost:8081/under", "bolt://localhost:7687");
        assert_eq!(config.weaviate().expect("an address").as_str(), "http://localhost:8081/under/");
        assert_eq!(config.neo4j().expect("an address").as_str(), "bolt://localhost:7687");
    }

    #[test]
    fn what_cannot_be_used_names_its_variable_and_shows_no_password() {
        let fault = |weaviate: &str| config(weaviate, "bolt://x").weaviate().expect_err("refused").message;
        assert!(fault("localhost").starts_with("WEAVIATE_URL 'localhost' is not an address"));
        assert!(fault("ftp://x").contains("its scheme is not one of http, https"));
        assert_eq!(fault("http://me:s3cret@x"), "WEAVIATE_URL holds credentials");
        assert!(!fault("http://me:s3cret@[").contains("s3cret"));
        assert!(fault("http://x/?a=b").contains("a query"));
        let fault = |neo4j: &str| config("http://x", neo4j).neo4j().expect_err("refused").message;
        assert!(fault("http://x:7474").contains("its scheme is not one of bolt"));
        assert!(fault("bolt://").contains("names no host"), "{}", fault("bolt://"));
        assert_eq!(fault("bolt://x/wiki"), "NEO4J_URI has a path");
    }
}
