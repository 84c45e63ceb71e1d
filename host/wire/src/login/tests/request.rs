//! HTTP requests, parsed by the test server.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _},
    net::TcpStream,
};

use gatehouse_net::Url;

#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) authorization: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) form: BTreeMap<String, String>,
    pub(super) body: String,
}

fn pairs(text: &str) -> BTreeMap<String, String> {
    let url = Url::parse(&format!("http://x/?{text}")).expect("a query");
    url.query_pairs().into_owned().collect()
}

pub(super) fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut seen = Seen { method, path: path.into(), query: pairs(query), ..Seen::default() };
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "authorization" => value.clone_into(&mut seen.authorization),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    seen.body = String::from_utf8(body).ok()?;
    seen.form = pairs(&seen.body);
    Some(seen)
}
