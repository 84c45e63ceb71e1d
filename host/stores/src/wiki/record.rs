//! A page as engines store it, made from a file or from a caller's draft.

use gatehouse_core::ports::knowledge::{Draft, Link, Neighbour, Page, PageSource, PageType};
use sha2::{Digest, Sha256};

use super::{folder::PageFile, ids, parse};

/// Goes into every hash of a file: raise it when the parser reads pages differently, and the next
/// indexing brings every stored page up to date.
const PARSER: &str = "gatehouse wiki parser 1\n";

/// The file that a page was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The wiki folder, canonical.
    pub(crate) root: String,
    /// The file in it, with `/` between its parts.
    pub(crate) file: String,
}

/// A page, whole, with what it declares and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) page_type: PageType,
    pub(crate) title: String,
    pub(crate) overview: String,
    pub(crate) content: String,
    pub(crate) domains: Vec<String>,
    pub(crate) sources: Vec<PageSource>,
    /// As declared, repetitions included.
    pub(crate) links: Vec<Link>,
    pub(crate) last_updated: Option<String>,
    /// Of the file's bytes, or of the fields where there is no file.
    pub(crate) hash: String,
    pub(crate) origin: Option<Origin>,
}

impl Record {
    /// The id in the form in which ids are compared.
    pub(crate) fn key(&self) -> String {
        ids::key(&self.id)
    }

    /// The page as the house sees it, with the pages it is linked to.
    pub(crate) fn into_page(self, neighbours: Vec<Neighbour>) -> Page {
        Page {
            id: self.id,
            title: self.title,
            page_type: self.page_type,
            overview: self.overview,
            content: self.content,
            domains: self.domains,
            sources: self.sources,
            last_updated: self.last_updated,
            neighbours,
        }
    }

    /// The page that a file holds.
    pub(crate) fn from_file(root: &str, file: &PageFile, text: &str) -> Self {
        let page = parse::parse(text);
        Self {
            id: ids::join(file.page_type, &file.stem),
            page_type: file.page_type,
            title: page.title.unwrap_or_else(|| ids::key(&file.stem)),
            overview: page.overview,
            content: page.content,
            domains: page.domains,
            sources: page.sources,
            links: page.links,
            last_updated: page.last_updated,
            hash: file_hash(text.as_bytes()),
            origin: Some(Origin { root: root.to_owned(), file: file.relative.clone() }),
        }
    }

    /// The page that a caller wrote; `now` is its date.
    pub(crate) fn from_draft(draft: Draft, now: String) -> Self {
        Self {
            id: ids::join(draft.page_type, &draft.title.replace(' ', "_")),
            page_type: draft.page_type,
            title: draft.title,
            overview: draft.overview,
            content: draft.content,
            domains: draft.domains,
            sources: draft.sources,
            links: draft.links,
            last_updated: Some(now),
            hash: String::new(),
            origin: None,
        }
        .with_field_hash()
    }

    /// The same with the hash of its fields. The date is not part of it: writing the same page on another
    /// day changes nothing.
    pub(crate) fn with_field_hash(mut self) -> Self {
        let mut hasher = Sha256::new();
        let mut part = |text: &str| {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        part("fields");
        for text in [&self.id, &self.title, &self.overview, &self.content] {
            part(text);
        }
        part("domains");
        self.domains.iter().for_each(|domain| part(domain));
        part("sources");
        for source in &self.sources {
            [&source.kind, &source.title, &source.url].into_iter().for_each(|text| part(text));
        }
        part("links");
        for link in &self.links {
            [&link.edge, &link.target].into_iter().for_each(|text| part(text));
        }
        self.hash = hex(&hasher.finalize());
        self
    }
}

/// The hash under which a file's page is stored.
pub(crate) fn file_hash(bytes: &[u8]) -> String {
    hex(&Sha256::new().chain_update(PARSER).chain_update(bytes).finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(overview: &str, domains: &[&str]) -> Draft {
        Draft {
            title: "Model Loading".into(),
            page_type: PageType::Principle,
            overview: overview.into(),
            content: String::new(),
            domains: domains.iter().map(|d| (*d).to_owned()).collect(),
            sources: vec![],
            links: vec![],
        }
    }

    #[test]
    fn a_draft_gets_its_id_and_a_hash_that_its_date_does_not_change() {
        let one = Record::from_draft(draft("a", &["x"]), "yesterday".into());
        assert_eq!(one.id, "Principle/Model_Loading");
        assert_eq!(one.hash, Record::from_draft(draft("a", &["x"]), "today".into()).hash);
        assert_ne!(one.hash, Record::from_draft(draft("ax", &[]), "today".into()).hash);
    }
}
