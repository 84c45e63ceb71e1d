//! Web pages that a response cites: absolute http(s) URLs without duplicates, limited in number and length.

use gatehouse_core::{names::quoted, ports::llm::WebSource};
use url::Url;

/// Maximum pages. Pages that were only read are dropped first.
const MAX_SOURCES: usize = 64;

const MAX_URL: usize = 2048;

const MAX_TITLE: usize = 300;

/// Pages in order of mention, with cited ones first.
#[derive(Debug, Default)]
pub(crate) struct WebSources {
    quoted: Vec<WebSource>,
    read: Vec<WebSource>,
}

impl WebSources {
    pub(crate) fn quoted(&mut self, url: Option<&str>, title: Option<&str>) {
        add(&mut self.quoted, url, title);
    }

    pub(crate) fn read(&mut self, url: Option<&str>, title: Option<&str>) {
        add(&mut self.read, url, title);
    }

    pub(super) fn list(self) -> Vec<WebSource> {
        let mut all = self.quoted;
        for WebSource { url, title } in self.read {
            add(&mut all, Some(&url), title.as_deref());
        }
        all
    }
}

fn add(list: &mut Vec<WebSource>, url: Option<&str>, title: Option<&str>) {
    let Some(url) = url.and_then(web) else { return };
    let title = title.map(|title| quoted(title.trim(), MAX_TITLE)).filter(|title| !title.is_empty());
    match list.iter().position(|source| source.url == url) {
        Some(known) => list[known].title = list[known].title.take().or(title),
        None if list.len() < MAX_SOURCES => list.push(WebSource { url, title }),
        None => {}
    }
}

/// Parses a web URL and returns its canonical form.
fn web(text: &str) -> Option<String> {
    if text.len() > MAX_URL {
        return None;
    }
    let url = Url::parse(text).ok()?;
    let plain = url.username().is_empty() && url.password().is_none();
    let web = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
    (plain && web && url.as_str().len() <= MAX_URL).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_addresses_of_the_web_each_once() {
        let mut sources = WebSources::default();
        sources.read(Some("https://a.example/read"), Some("Read"));
        sources.quoted(Some("HTTPS://A.example:443/x"), None);
        sources.quoted(Some("https://a.example/x"), Some(" A\ntitle "));
        sources.quoted(Some("http://b.example"), None);
        sources.read(Some("http://b.example/"), Some("B"));
        let long = format!("https://a.example/{}", "x".repeat(MAX_URL));
        for bad in
            ["javascript:alert(1)", "/relative", "file:///etc/passwd", "https://u:p@a.example", "", &long]
        {
            sources.quoted(Some(bad), Some("bad"));
        }
        let found: Vec<_> = sources.list().into_iter().map(|source| (source.url, source.title)).collect();
        let page = |url: &str, title: &str| (url.to_owned(), Some(title.to_owned()));
        let expected = [
            page("https://a.example/x", "A title"),
            page("http://b.example/", "B"),
            page("https://a.example/read", "Read"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut sources = WebSources::default();
        (0..1000).for_each(|n| sources.read(Some(&format!("https://a.example/{n}")), None));
        (0..40).for_each(|n| sources.quoted(Some(&format!("https://b.example/{n}")), None));
        let list = sources.list();
        assert_eq!(list.len(), MAX_SOURCES);
        assert_eq!(list[0].url, "https://b.example/0");
        assert_eq!(list[40].url, "https://a.example/0");
    }
}
