//! The page that browsers get at the server's address: presets, and how to connect an MCP client. It has no script,
//! loads nothing, and shows nothing that needs the token.

use std::{fmt::Write as _, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use sha2::{Digest, Sha256};

use super::reply::{self, BoxResponse};
use crate::serve::{ServedPreset, ServedPresets};

const STYLE: &str = ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;\
padding:0 1rem}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.5rem 0 .3rem}pre,code{font-family:ui-monospace,monospace}\
pre{padding:.6rem .8rem;border:1px solid #8886;border-radius:6px;overflow-x:auto}td{padding:.1rem 1.2rem .1rem 0}";

/// Headers against content sniffing, referrer leaks and caching.
const HEADERS: [(HeaderName, &str); 4] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
];

/// True if the client accepts HTML, as browsers do. MCP clients accept JSON and events.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accept
        .flat_map(|value| value.split(','))
        .map(|kind| kind.split(';').next().unwrap_or_default().trim());
    kinds.any(|kind| kind.eq_ignore_ascii_case("text/html"))
}

/// Renders the page. Lists presets only if no token is required.
pub(super) fn page(presets: &ServedPresets, headers: &HeaderMap, token: bool) -> BoxResponse {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("127.0.0.1:8642");
    let rows = if token { Vec::new() } else { rows(presets) };
    respond(StatusCode::OK, html(&escaped(host), &rows, token), "'none'")
}

/// Returns a response with a page. `form_targets` are the sources to which it may send forms.
pub(super) fn respond(status: StatusCode, page: String, form_targets: &str) -> BoxResponse {
    let mut response = reply::plain(status, page);
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action {form_targets}; frame-ancestors 'none'"
    );
    if let Ok(policy) = HeaderValue::try_from(policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the start of a page, up to its content.
pub(super) fn head(title: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n<style>{STYLE}</style>\n"
    )
}

/// A preset and its number of tools. `None` if it cannot be served.
type PresetRow = (String, Option<usize>);

/// Returns the presets. None if callers are limited: the browser has shown no credential.
fn rows(presets: &ServedPresets) -> Vec<PresetRow> {
    if presets.access_rules().are_enforced() {
        return Vec::new();
    }
    let tools = |served: &Arc<ServedPreset>| {
        served.full_catalog().entries().iter().filter(|entry| entry.listed).count()
    };
    let presets = presets.presets();
    presets.iter().map(|(name, served)| (name.clone(), served.as_ref().ok().map(tools))).collect()
}

fn html(host: &str, rows: &[PresetRow], token: bool) -> String {
    let header = if token { " \\\n  --header \"Authorization: Bearer $GATEHOUSE_TOKEN\"" } else { "" };
    let mut page = format!(
        "{}<h1>Gatehouse {}</h1>\n\
         <p>This is an MCP server: AI agents connect to it and use its tools. A browser cannot.</p>\n\
         <h2>Connect</h2>\n<p>Claude Code:</p>\n\
         <pre>claude mcp add --transport http gatehouse http://{host}/mcp{header}</pre>\n\
         <p>Another client (cursor, vscode, codex, gemini):</p>\n\
         <pre>gatehouse mcp-config PRESET --http http://{host} --client cursor</pre>\n",
        head("Gatehouse"),
        env!("CARGO_PKG_VERSION")
    );
    if token {
        page += "<p>Requests need this host's token. Ask its operator for it.</p>\n";
    } else {
        page += "<h2>Presets</h2>\n<p><code>/mcp</code> serves the default preset. Each preset has its own address:</p>\n<table>\n";
        for (name, tools) in rows {
            let tools = match tools {
                Some(1) => "1 tool".to_owned(),
                Some(tools) => format!("{tools} tools"),
                None => "cannot be served; run <code>gatehouse presets check</code>".to_owned(),
            };
            let name = escaped(name);
            // Writing to a string cannot fail.
            let _ = writeln!(page, "<tr><td>{name}<td><code>http://{host}/mcp/p/{name}</code><td>{tools}");
        }
        page += "</table>\n";
    }
    page += "<p>State: <a href=\"/healthz\">/healthz</a>, <a href=\"/readyz\">/readyz</a></p>\n</html>\n";
    page
}

pub(super) fn escaped(text: &str) -> String {
    let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    escapes.iter().fold(text.to_owned(), |text, (letter, escape)| text.replace(letter, escape))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_want_a_page_and_clients_do_not() {
        let wants = |accept: &'static str| {
            is_wanted(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(wants("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(wants("application/xhtml+xml, Text/HTML;q=0.5"));
        for client in ["application/json, text/event-stream", "*/*", "text/event-stream", ""] {
            assert!(!wants(client), "{client}");
        }
        assert!(!is_wanted(&HeaderMap::new()));
    }

    #[test]
    fn names_are_text_and_presets_are_shown_without_a_token_only() {
        let rows = [("<b>".to_owned(), Some(1)), ("broken".to_owned(), None)];
        let page = html("localhost:1", &rows, false);
        assert!(page.contains("http://localhost:1/mcp/p/&lt;b&gt;") && !page.contains("<b>"), "{page}");
        assert!(page.contains("1 tool\n") && page.contains("cannot be served"), "{page}");
        let page = html("localhost:1", &rows, true);
        assert!(page.contains("Bearer $GATEHOUSE_TOKEN") && !page.contains("broken"), "{page}");
    }
}
