//! Metadata of an issuer: where its keys are (RFC 8414, and OpenID Connect Discovery).

use gatehouse_core::{Fault, names::quoted};
use gatehouse_net::Url;
use serde_json::Value;

use super::http::IssuerHttp;

/// Finds the address of the issuer's keys. The metadata must name the configured issuer.
pub(super) async fn jwks_url(http: &IssuerHttp, issuer: &str) -> Result<Url, Fault> {
    let address = Url::parse(issuer).map_err(|_| Fault::invalid("the issuer is not a URL"))?;
    let mut failure = None;
    for url in candidates(&address) {
        let checked = match http.get(&url).await {
            Ok(document) => {
                let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
                check(&address, issuer, text("issuer"), text("jwks_uri"))
            }
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(url) => return Ok(url),
            // The first failure explains most: the other addresses are for other kinds of issuers.
            Err(fault) => failure = failure.or(Some(fault)),
        }
    }
    Err(failure.unwrap_or_else(|| Fault::internal("the issuer has no metadata address")))
}

/// Returns the addresses of the metadata, in the order of MCP.
fn candidates(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    let url = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    paths.into_iter().map(url).collect()
}

fn check(address: &Url, issuer: &str, named: &str, keys: &str) -> Result<Url, Fault> {
    if named != issuer {
        let (named, issuer) = (quoted(named, 200), quoted(issuer, 200));
        return Err(Fault::denied(format!("the metadata of '{issuer}' is of the issuer '{named}'")));
    }
    let refused = || Fault::denied(format!("its jwks_uri '{}' is not an https address", quoted(keys, 200)));
    let url = Url::parse(keys).map_err(|_| refused())?;
    // A local issuer over plain HTTP has local keys.
    let local = address.scheme() == "http" && url.scheme() == "http" && url.host() == address.host();
    if url.scheme() == "https" || local { Ok(url) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(issuer: &str) -> Vec<String> {
        candidates(&Url::parse(issuer).expect("a URL")).into_iter().map(String::from).collect()
    }

    #[test]
    fn the_addresses_are_those_of_mcp() {
        let root = [
            "https://a.example/.well-known/oauth-authorization-server",
            "https://a.example/.well-known/openid-configuration",
        ];
        assert_eq!(shown("https://a.example"), root);
        assert_eq!(shown("https://a.example/"), root);
        assert_eq!(
            shown("https://a.example/t/1"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_names_its_issuer_and_keys_over_https() {
        let checked = |issuer: &str, named: &str, keys: &str| {
            check(&Url::parse(issuer).expect("a URL"), issuer, named, keys).map(String::from)
        };
        let https = "https://a.example";
        assert_eq!(checked(https, https, "https://k.example/k").as_deref(), Ok("https://k.example/k"));
        assert!(checked(https, "https://b.example", "https://a.example/k").is_err());
        assert!(checked(https, "https://a.example/", "https://a.example/k").is_err(), "compared as text");
        for keys in ["http://a.example/k", "file:///etc/passwd", "", "http://127.0.0.1/k"] {
            assert!(checked(https, https, keys).is_err(), "{keys}");
        }
        let local = "http://127.0.0.1:9";
        assert!(checked(local, local, "http://127.0.0.1:9/k").is_ok());
        assert!(checked(local, local, "http://b.example/k").is_err());
    }
}
