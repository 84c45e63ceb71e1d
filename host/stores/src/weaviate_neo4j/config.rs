//! Addresses, credentials and timeouts of both servers. Addresses are validated before any connection.

use std::time::Duration;

use gatehouse_core::{Fault, http::Secret};
use url::Url;

use crate::remote::{http_url, server_url};

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
}

impl Default for RemoteTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(20),
            statement: Duration::from_secs(60),
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
        }
    }
}

const LOGIN: &str = "Set NEO4J_USER and NEO4J_PASSWORD, or WEAVIATE_API_KEY.";

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
        http_url("WEAVIATE_URL", &self.weaviate_url, LOGIN)
    }

    pub(super) fn neo4j(&self) -> Result<Url, Fault> {
        let url = server_url("NEO4J_URI", &self.neo4j_uri, &BOLT, LOGIN)?;
        if !matches!(url.path(), "" | "/") {
            return Err(Fault::invalid("NEO4J_URI must not have a path")
                .hint("Set NEO4J_DATABASE to the name of the database."));
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_neo4j_has_a_scheme_of_bolt_and_no_path() {
        let neo4j = |neo4j: &str| {
            let config = WeaviateNeo4jConfig {
                weaviate_url: "http://x".into(),
                weaviate_api_key: None,
                neo4j_uri: neo4j.into(),
                neo4j_user: "neo4j".into(),
                neo4j_password: Secret::new("s3cret"),
                neo4j_database: None,
                timing: RemoteTimeouts::default(),
            };
            config.neo4j_address().map_err(|fault| fault.message)
        };
        assert_eq!(neo4j("bolt://localhost:7687"), Ok("bolt://localhost:7687".into()));
        assert!(neo4j("http://x:7474").expect_err("refused").contains("the scheme must be one of bolt"));
        assert_eq!(neo4j("bolt://x/wiki"), Err("NEO4J_URI must not have a path".into()));
    }
}
