//! `URL` and `URLSearchParams` of scripts, by the crate `url`, as JSON.

use serde_json::json;
use url::{Url, form_urlencoded, quirks};

/// Returns the parts of an address. `None` if it is invalid.
pub(super) fn parse(address: &str, base: Option<&str>) -> Option<String> {
    let base = base.map(Url::parse).transpose().ok()?;
    Url::options().base_url(base.as_ref()).parse(address).ok().map(|url| parts(&url))
}

fn parts(url: &Url) -> String {
    json!({
        "href": quirks::href(url),
        "origin": quirks::origin(url),
        "protocol": quirks::protocol(url),
        "username": quirks::username(url),
        "password": quirks::password(url),
        "host": quirks::host(url),
        "hostname": quirks::hostname(url),
        "port": quirks::port(url),
        "pathname": quirks::pathname(url),
        "search": quirks::search(url),
        "hash": quirks::hash(url),
    })
    .to_string()
}

/// Changes a part of a valid address. A part that cannot have the value stays, as in browsers.
pub(super) fn changed(address: &str, part: &str, value: &str) -> Option<String> {
    let mut url = Url::parse(address).ok()?;
    let outcome = match part {
        "protocol" => quirks::set_protocol(&mut url, value),
        "username" => quirks::set_username(&mut url, value),
        "password" => quirks::set_password(&mut url, value),
        "host" => quirks::set_host(&mut url, value),
        "hostname" => quirks::set_hostname(&mut url, value),
        "port" => quirks::set_port(&mut url, value),
        "pathname" => {
            quirks::set_pathname(&mut url, value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, value);
            Ok(())
        }
        _ => Err(()),
    };
    // Browsers ignore what a part cannot be.
    let _ = outcome;
    Some(parts(&url))
}

/// Splits a query into pairs.
pub(super) fn query(text: &str) -> String {
    let pairs: Vec<(String, String)> = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    json!(pairs).to_string()
}

/// Writes pairs as a query.
pub(super) fn written_query(pairs: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = serde_json::from_str(pairs).ok()?;
    Some(form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish())
}
