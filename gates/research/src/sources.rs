//! Page URLs: validation, comparison, and whether the model read the page.

use gatehouse_sdk::models::WebSource;
use schemars::JsonSchema;
use serde::Serialize;

const MAX_URL_BYTES: usize = 2_048;

/// Provider's account of a page that the model names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Evidence {
    Page,
    Site,
    None,
    Unknown,
}

impl Evidence {
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Self::Page | Self::Unknown => "",
            Self::Site => " (the model read this site, but not this page)",
            Self::None => " (not among the pages that the model read)",
        }
    }
}

/// Checks a URL against the pages that the provider lists as read. Some providers list redirects with the site as the
/// title, which only confirms the site.
pub(crate) fn evidence(url: &str, read: &[WebSource]) -> Evidence {
    if read.is_empty() {
        return Evidence::Unknown;
    }
    let site = site(url);
    let of_site = |source: &WebSource| {
        self::site(&source.url) == site || source.title.as_deref().is_some_and(|title| bare(title) == site)
    };
    match key(url) {
        page if read.iter().any(|source| key(&source.url) == page) => Evidence::Page,
        _ if read.iter().any(of_site) => Evidence::Site,
        _ => Evidence::None,
    }
}

/// Extracts a URL and removes tracking parameters. `None` if it is not absolute, not HTTP or HTTPS, or deceptive.
pub(crate) fn address(text: &str) -> Option<String> {
    let text = out_of_markdown(text.trim());
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let is_web = ["http", "https"].contains(&scheme.as_str()) && is_host(authority);
    if !is_web || text.len() > MAX_URL_BYTES || rest.chars().any(|c| c.is_whitespace() || is_hidden(c)) {
        return None;
    }
    let (rest, fragment) = rest.split_at(rest.find('#').unwrap_or(rest.len()));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let query: Vec<&str> = query.split('&').filter(|p| !p.is_empty() && !p.starts_with("utm_")).collect();
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    let mark = if query.is_empty() { "" } else { "?" };
    let whole = format!("{scheme}://{}{path}{mark}{}{fragment}", authority.to_lowercase(), query.join("&"));
    Some(whole.chars().map(quoted).collect())
}

/// Normalizes a URL for comparison: drops scheme, `www.`, fragment and trailing slash, and percent-encodes non-ASCII
/// bytes as providers do.
pub(crate) fn key(url: &str) -> String {
    let url = address(url).unwrap_or_else(|| url.to_owned());
    let rest = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let rest = rest.split('#').next().unwrap_or_default();
    let rest = rest.strip_prefix("www.").unwrap_or(rest).trim_end_matches('/');
    let encoded = |byte: u8| match byte {
        0..=127 => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    rest.bytes().map(encoded).collect()
}

/// Returns the host of a URL, without `www.` and port.
pub(crate) fn site(url: &str) -> String {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    bare(rest.split(['/', '?', '#']).next().unwrap_or_default())
}

fn bare(host: &str) -> String {
    let host = host.trim().to_lowercase();
    let host = host.strip_prefix("www.").unwrap_or(&host);
    host.split(':').next().unwrap_or_default().to_owned()
}

/// Returns whether a character is invisible or changes the text direction.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn out_of_markdown(text: &str) -> &str {
    if text.starts_with("http") {
        return text;
    }
    let begins = ["(http", "<http"].iter().filter_map(|mark| text.find(mark)).min();
    let inside = begins.map_or(text, |at| &text[at + 1..]);
    inside.split([')', '>', ' ']).next().unwrap_or_default()
}

/// Returns whether this is a host name with a dot, or an IP address. User information is rejected, because it is
/// deceptive.
fn is_host(authority: &str) -> bool {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, "80"),
    };
    let name = |host: &str| {
        host.contains('.')
            && !host.starts_with('.')
            && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '.' | '_'))
    };
    let v6 = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.is_some_and(|inner| {
            !inner.is_empty() && inner.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
        })
    };
    (name(host) || v6(host)) && !port.is_empty() && port.chars().all(|c| c.is_ascii_digit())
}

/// Percent-encodes a character that would end the URL in a reply.
fn quoted(c: char) -> String {
    match c {
        '<' | '>' | '"' | '`' | '\\' | '^' | '{' | '|' | '}' => format!("%{:02X}", c as u32),
        _ => c.to_string(),
    }
}
