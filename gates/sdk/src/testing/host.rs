//! The host functions as a test sees them: each asks the [`Fake`] that is in place.

pub(crate) mod context {
    use super::super::*;

    pub(crate) fn log(level: Level, message: &str, fields: &str) {
        current().heard.borrow_mut().push(format!("{level:?}: {message} {fields}").trim_end().to_owned());
    }
    pub(crate) fn progress(done: u64, total: Option<u64>, message: Option<&str>) {
        let total = total.map(|t| format!("/{t}")).unwrap_or_default();
        current().heard.borrow_mut().push(format!("{done}{total} {}", message.unwrap_or_default()));
    }
    pub(crate) fn now() -> u64 {
        current().now
    }
    pub(crate) fn cancelled() -> bool {
        current().cancelled
    }
    pub(crate) fn exposed_name(tool: &str) -> Option<String> {
        current().exposed.get(tool).cloned()
    }
}

pub(crate) mod catalog {
    use super::super::*;
    pub(crate) use crate::bindings::gatehouse::gate::catalog::{Entry, ToolRequest};

    pub(crate) fn tools() -> Result<Vec<Entry>, Fault> {
        Ok(current().tools.clone())
    }
    pub(crate) fn schema(_tool: &str) -> Result<String, Fault> {
        unset("schema")
    }
    pub(crate) fn call(tool: &str, arguments: &str) -> Result<Reply, Fault> {
        current().call_tool.as_ref().map_or_else(|| unset("call"), |f| f(tool, arguments))
    }
    pub(crate) fn call_many(calls: &[ToolRequest]) -> Vec<Result<Reply, Fault>> {
        calls.iter().map(|one| call(&one.tool, &one.arguments)).collect()
    }
}

pub(crate) mod text {
    use super::super::*;

    pub(crate) fn extract(text: &str, query: &str, budget: u32) -> Result<ExtractResult, Fault> {
        current().extract.as_ref().map_or_else(|| unset("extract"), |f| f(text, query, budget))
    }
    pub(crate) fn digest(document: &str, query: &str, budget: u32) -> Result<DigestResult, Fault> {
        current().digest.as_ref().map_or_else(|| unset("digest"), |f| f(document, query, budget))
    }
}

pub(crate) mod http {
    use super::super::*;

    pub(crate) fn fetch(request: &Request) -> Result<Response, Fault> {
        current().fetch.as_ref().map_or_else(|| unset("fetch"), |f| f(request))
    }
    pub(crate) fn fetch_many(requests: &[Request]) -> Vec<Result<Response, Fault>> {
        requests.iter().map(fetch).collect()
    }
}

pub(crate) mod knowledge {
    use super::super::*;

    pub(crate) fn search(query: &str, filters: &Filters, limit: u32) -> Result<SearchResult, Fault> {
        current().search.as_ref().map_or_else(|| unset("search"), |f| f(query, filters, limit))
    }
    pub(crate) fn read(id_or_title: &str) -> Result<Lookup, Fault> {
        current().read.as_ref().map_or_else(|| unset("read"), |f| f(id_or_title))
    }
    pub(crate) fn neighbours(id: &str) -> Result<Vec<Neighbour>, Fault> {
        current().neighbours.as_ref().map_or_else(|| unset("neighbours"), |f| f(id))
    }
    pub(crate) fn upsert(drafts: &[Draft]) -> Result<IndexReport, Fault> {
        current().upsert.as_ref().map_or_else(|| unset("upsert"), |f| f(drafts))
    }
    pub(crate) fn patch(
        id: &str,
        changes: &Changes,
        wiki_dir: Option<&str>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        current().patch.as_ref().map_or_else(|| unset("patch"), |f| f(id, changes, wiki_dir, stamp))
    }
    pub(crate) fn index(root: Option<&str>, options: &IndexOptions) -> Result<IndexReport, Fault> {
        current().index.as_ref().map_or_else(|| unset("index"), |f| f(root, options))
    }
    pub(crate) fn stats() -> Result<Statistics, Fault> {
        current().stats.as_ref().map_or_else(|| unset("stats"), |f| f())
    }
}
