//! Client of MCP registries, which describe servers (`/v0.1/servers`). What a registry says is data: nothing is run or
//! written here. Unknown members are ignored.

use std::time::Duration;

use gatehouse_core::{Fault, FaultKind, names::quoted};
use gatehouse_net::{
    BodyError, HttpClients, Method, Request, StatusCode, Url,
    header::{ACCEPT, HeaderValue},
    http_cause, read_body,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::time::timeout;

use crate::login::is_loopback;

/// The registry of the MCP project.
pub const DEFAULT_MCP_REGISTRY: &str = "https://registry.modelcontextprotocol.io";

const MAX_REQUEST_TIME: Duration = Duration::from_secs(20);

const MAX_BODY: usize = 4 << 20;

const MAX_NAME_CHARS: usize = 200;

pub struct McpRegistry {
    http: HttpClients,
    base: Url,
}

impl McpRegistry {
    /// Uses the registry at `base`. Plain HTTP is for loopback only.
    ///
    /// # Errors
    /// If it is not a URL, or not https.
    pub fn new(base: &str) -> Result<Self, Fault> {
        let bad =
            |reason: &str| Fault::invalid(format!("invalid registry '{}': {reason}", quoted(base, 200)));
        let mut url =
            Url::parse(base).map_err(|_| bad("expected a URL such as https://registry.example.com"))?;
        let is_safe =
            url.scheme() == "https" || (url.scheme() == "http" && url.host_str().is_some_and(is_loopback));
        if !is_safe {
            return Err(bad("expected https, or http on this machine"));
        }
        if !url.username().is_empty()
            || url.password().is_some()
            || url.query().is_some()
            || url.fragment().is_some()
        {
            return Err(bad("expected no user name, password, query or fragment"));
        }
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        Ok(Self { http: HttpClients::default(), base: url })
    }

    /// Returns the latest versions of servers whose names contain `query`.
    pub async fn search(&self, query: &str, limit: u32) -> Result<Vec<RegistryEntry>, Fault> {
        let mut url = self.url(&["servers"])?;
        let limit = limit.to_string();
        url.query_pairs_mut().extend_pairs([("search", query), ("version", "latest"), ("limit", &limit)]);
        let answer: ListAnswer = self.get(url).await?;
        Ok(answer.servers.into_iter().map(EntryAnswer::into_entry).collect())
    }

    /// Returns a version of a server. `None` for the latest one.
    ///
    /// # Errors
    /// `not-found`, or `unavailable` if the registry does not answer as it should.
    pub async fn entry(&self, name: &str, version: Option<&str>) -> Result<RegistryEntry, Fault> {
        let quoted_name = quoted(name, MAX_NAME_CHARS);
        let url = self.url(&["servers", name, "versions", version.unwrap_or("latest")])?;
        let answer: EntryAnswer = self.get(url).await.map_err(|fault| match (fault.kind, version) {
            (FaultKind::NotFound, None) => {
                Fault::not_found(format!("the registry has no server '{quoted_name}'"))
                    .hint("Run `gatehouse servers search` with a part of its name.")
            }
            (FaultKind::NotFound, Some(version)) => {
                let version = quoted(version, 64);
                Fault::not_found(format!("the registry has no version '{version}' of server '{quoted_name}'"))
            }
            _ => fault,
        })?;
        let entry = answer.into_entry();
        if entry.name != name {
            let other = quoted(&entry.name, MAX_NAME_CHARS);
            return Err(Fault::unavailable(format!(
                "the registry answered '{other}' instead of '{quoted_name}'"
            )));
        }
        if version.is_some_and(|version| version != entry.version) {
            let other = quoted(&entry.version, 64);
            return Err(Fault::unavailable(format!(
                "the registry answered version '{other}' of '{quoted_name}'"
            )));
        }
        Ok(entry)
    }

    fn url(&self, path: &[&str]) -> Result<Url, Fault> {
        let mut url = self.base.clone();
        let mut segments =
            url.path_segments_mut().map_err(|()| Fault::invalid("the registry has no paths"))?;
        segments.pop_if_empty().push("v0.1").extend(path);
        drop(segments);
        Ok(url)
    }

    async fn get<T: DeserializeOwned>(&self, url: Url) -> Result<T, Fault> {
        let host = quoted(self.base.host_str().unwrap_or_default(), 200);
        let mut request = Request::new(Method::GET, url);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let client = self.http.for_url(request.url())?;
        let failed = |reason: String| {
            Fault::unavailable(format!("cannot use the registry {host}: {}", quoted(&reason, 300)))
        };
        let exchange = async {
            let response = client.execute(request).await.map_err(|error| failed(http_cause(error)))?;
            match response.status() {
                StatusCode::OK => {}
                StatusCode::NOT_FOUND => {
                    return Err(Fault::not_found(format!("{host} answered 404 Not Found")));
                }
                status => return Err(failed(format!("it answered {status}"))),
            }
            let body = read_body(response, MAX_BODY).await.map_err(|error| match error {
                BodyError::TooLarge | BodyError::Stopped => {
                    failed(format!("its answer exceeds {MAX_BODY} bytes"))
                }
                BodyError::Broken(error, _) => failed(http_cause(error)),
            })?;
            serde_json::from_slice(&body)
                .map_err(|error| failed(format!("its answer cannot be read: {error}")))
        };
        let seconds = MAX_REQUEST_TIME.as_secs();
        timeout(MAX_REQUEST_TIME, exchange)
            .await
            .unwrap_or_else(|_| Err(failed(format!("no answer in {seconds} s"))))
    }
}

/// Member of `_meta` in which the registry describes the state of an entry.
const OFFICIAL_META: &str = "io.modelcontextprotocol.registry/official";

#[derive(Deserialize)]
struct ListAnswer {
    servers: Vec<EntryAnswer>,
}

#[derive(Deserialize)]
struct EntryAnswer {
    server: RegistryEntry,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

impl EntryAnswer {
    fn into_entry(self) -> RegistryEntry {
        let status = self.meta[OFFICIAL_META]["status"].as_str().map(str::to_owned);
        RegistryEntry { status, ..self.server }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryEntry {
    /// Name in the registry, such as `io.github.user/server`.
    pub name: String,
    pub description: String,
    pub version: String,
    pub packages: Vec<RegistryPackage>,
    pub remotes: Vec<RegistryRemote>,
    /// `active`, `deprecated` or `deleted`. `None` if the registry does not say.
    #[serde(skip)]
    pub status: Option<String>,
}

/// A package that runs the server on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryPackage {
    /// `npm`, `pypi`, `oci`, `nuget` or `mcpb`.
    pub registry_type: String,
    pub identifier: String,
    pub version: String,
    /// `None` for the default registry of the type.
    pub registry_base_url: Option<String>,
    pub transport: RegistryTransport,
    pub runtime_arguments: Vec<RegistryArgument>,
    pub package_arguments: Vec<RegistryArgument>,
    pub environment_variables: Vec<RegistryInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryTransport {
    #[serde(rename = "type")]
    pub kind: String,
}

/// An address at which the server runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryRemote {
    /// `streamable-http` or `sse`.
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
    pub headers: Vec<RegistryInput>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RegistryArgument {
    /// `positional` or `named`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(flatten)]
    pub input: RegistryInput,
    /// Name of a positional argument for users.
    #[serde(rename = "valueHint")]
    pub value_hint: String,
}

/// A value that an entry sets, or the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RegistryInput {
    pub name: String,
    pub description: String,
    pub is_required: bool,
    pub is_secret: bool,
    pub value: Option<String>,
    pub default: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_are_https_or_on_this_machine() {
        for good in ["https://registry.example.com", "http://127.0.0.1:8080/mcp", "http://localhost:1/"] {
            assert!(McpRegistry::new(good).is_ok(), "{good}");
        }
        for bad in [
            "http://registry.example.com",
            "registry.example.com",
            "https://a:b@c.example",
            "https://a.example?x",
        ] {
            let fault = McpRegistry::new(bad).map(drop).expect_err("not safe");
            assert!(fault.message.starts_with("invalid registry '"), "{fault}");
        }
    }

    #[test]
    fn names_are_one_segment_of_the_path() {
        let registry = McpRegistry::new("https://registry.example.com/base").expect("a URL");
        let url = registry.url(&["servers", "io.github.a/b?c", "versions", "1.0.0"]).expect("a URL");
        assert_eq!(
            url.as_str(),
            "https://registry.example.com/base/v0.1/servers/io.github.a%2Fb%3Fc/versions/1.0.0"
        );
    }
}
