//! Pages as engines store them, created from files or drafts.

use gatehouse_core::{
    hash::{hex, sha256_hex},
    ports::knowledge::{KnowledgePage, PageDraft, PageLink, PageNeighbor, PageSource, PageType},
    search::embedded_text,
};
use sha2::{Digest, Sha256};

use super::{
    folder::PageFile,
    ids,
    parse::{self, ParsedPage},
    verbatim::has_front_matter,
};

/// Part of every file hash. Increase the version when the parser changes, so that the next indexing updates every page.
const PARSER: &str = "gatehouse wiki parser 2\n";

/// The same for files with front matter, which versions before 3 parsed differently. Other files retain their hashes.
const PARSER_OF_FRONT_MATTER: &str = "gatehouse wiki parser 3\n";

/// Hash prefix of pages whose stored content is not in a file.
const FIELDS: &str = "fields:";

/// Returns `true` if the page with this hash was written or changed only in the store.
pub(crate) fn is_store_only(hash: &str) -> bool {
    hash.starts_with(FIELDS)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageOrigin {
    /// Wiki directory, canonical.
    pub(crate) root: String,
    /// Path relative to `root`, with `/` separators.
    pub(crate) file: String,
}

impl PageOrigin {
    /// Returns the origin in two columns of a database, which are empty for a page without a file.
    pub(crate) fn from_columns(root: Option<String>, file: Option<String>) -> Option<Self> {
        root.zip(file).map(|(root, file)| Self { root, file })
    }
}

/// Parses a stored page type. The error describes the value.
pub(crate) fn parse_type(text: &str) -> Result<PageType, String> {
    text.parse().map_err(|_| format!("'{text}' is not a page type"))
}

/// A complete page with its declared links and its origin.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageRecord {
    pub(crate) id: String,
    pub(crate) page_type: PageType,
    pub(crate) title: String,
    pub(crate) overview: String,
    pub(crate) content: String,
    pub(crate) domains: Vec<String>,
    pub(crate) sources: Vec<PageSource>,
    /// As declared, including duplicates.
    pub(crate) links: Vec<PageLink>,
    pub(crate) last_updated: Option<String>,
    /// Hash of the file, or of the fields if there is no file.
    pub(crate) hash: String,
    pub(crate) origin: Option<PageOrigin>,
}

impl PageRecord {
    pub(crate) fn key(&self) -> String {
        ids::key(&self.id)
    }

    pub(crate) fn text_to_embed(&self) -> String {
        embedded_text(&self.title, &self.overview, &self.domains, &self.content)
    }

    /// Returns the hash of [the embedded text](Self::text_to_embed).
    pub(crate) fn version_to_embed(&self) -> String {
        sha256_hex(self.text_to_embed())
    }

    pub(crate) fn into_page(self, neighbours: Vec<PageNeighbor>) -> KnowledgePage {
        KnowledgePage {
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

    /// Parses a file. Returns the page and its unknown edges.
    pub(crate) fn from_file(root: &str, file: &PageFile, text: &str) -> (Self, Vec<String>) {
        let page = parse::parse(text);
        let record = Self {
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
            origin: Some(PageOrigin { root: root.to_owned(), file: file.relative.clone() }),
        };
        (record, page.unknown_edges)
    }

    /// Creates a page from a draft, dated `now`. Returns the page and its unknown edges. Empty fields of the draft are
    /// taken from its content.
    pub(crate) fn from_draft(draft: PageDraft, now: String) -> (Self, Vec<String>) {
        let page = Self {
            id: draft_id(&draft),
            page_type: draft.page_type,
            title: draft.title,
            overview: draft.overview,
            content: String::new(),
            domains: draft.domains,
            sources: draft.sources,
            links: draft.links,
            last_updated: Some(now),
            hash: String::new(),
            origin: None,
        };
        let parsed_page = page.with_content(&draft.content);
        fn or_parsed<T>(list: Vec<T>, parsed_list: Vec<T>) -> Vec<T> {
            if list.is_empty() { parsed_list } else { list }
        }
        let page = Self {
            overview: if page.overview.is_empty() { parsed_page.overview } else { page.overview },
            content: parsed_page.content,
            domains: or_parsed(page.domains, parsed_page.domains),
            sources: or_parsed(page.sources, parsed_page.sources),
            links: or_parsed(page.links, parsed_page.links),
            ..page
        };
        (page.with_field_hash(), parsed_page.unknown_edges)
    }

    /// Parses a page file with this title and type and the given content.
    pub(crate) fn with_content(&self, content: &str) -> ParsedPage {
        parse::parse(&format!("# {}: {}\n\n{content}\n", self.page_type, self.title))
    }

    /// Returns the page as if parsed from a file.
    pub(crate) fn parsed(&self) -> ParsedPage {
        ParsedPage {
            title: Some(self.title.clone()),
            page_type: Some(self.page_type),
            // An overview that equals the one derived from the content is not the page's own.
            own_overview: !self.overview.is_empty() && {
                let parsed_page = self.with_content(&self.content);
                parsed_page.own_overview || parsed_page.overview != self.overview
            },
            overview: self.overview.clone(),
            content: self.content.clone(),
            domains: self.domains.clone(),
            sources: self.sources.clone(),
            last_updated: self.last_updated.clone(),
            links: self.links.clone(),
            unknown_edges: Vec::new(),
        }
    }

    /// Sets the hash of the fields. It excludes the date, so writing the same page later changes nothing.
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
        self.hash = format!("{FIELDS}{}", hex(hasher.finalize()));
        self
    }
}

pub(crate) fn draft_id(draft: &PageDraft) -> String {
    ids::join(draft.page_type, &draft.title.replace(' ', "_"))
}

pub(crate) fn file_hash(bytes: &[u8]) -> String {
    let parser = if has_front_matter(bytes) { PARSER_OF_FRONT_MATTER } else { PARSER };
    hex(Sha256::new().chain_update(parser).chain_update(bytes).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(overview: &str, domains: &[&str]) -> PageDraft {
        PageDraft {
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
        let one = PageRecord::from_draft(draft("a", &["x"]), "yesterday".into()).0;
        assert_eq!(one.id, "Principle/Model_Loading");
        assert_eq!(one.hash, PageRecord::from_draft(draft("a", &["x"]), "today".into()).0.hash);
        assert_ne!(one.hash, PageRecord::from_draft(draft("ax", &[]), "today".into()).0.hash);
    }
}
