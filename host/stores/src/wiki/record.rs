//! A page as engines store it, made from a file or from a caller's draft.

use gatehouse_core::{
    hash::{hex, sha256_hex},
    ports::knowledge::{KnowledgePage, PageDraft, PageLink, PageNeighbor, PageSource, PageType},
    search::embedded_text,
};
use sha2::{Digest, Sha256};

use super::{
    folder::PageFile,
    front_matter::has_front_matter,
    ids,
    parse::{self, ParsedPage},
};

/// Goes into every hash of a file: raise it when the parser reads pages differently, and the next
/// indexing brings every stored page up to date.
const PARSER: &str = "gatehouse wiki parser 2\n";

/// The same for files with front matter, which older parsers read otherwise. Other files need no new hash for that.
const PARSER_OF_FRONT_MATTER: &str = "gatehouse wiki parser 3\n";

/// How the hash of a page begins that no file holds as it is stored.
const FIELDS: &str = "fields:";

/// Whether a stored page with this hash says what no file says: a caller wrote it or changed it in the store alone.
pub(crate) fn is_in_store_alone(hash: &str) -> bool {
    hash.starts_with(FIELDS)
}

/// The file that a page was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageOrigin {
    /// The wiki folder, canonical.
    pub(crate) root: String,
    /// The file in it, with `/` between its parts.
    pub(crate) file: String,
}

/// A page, whole, with what it declares and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageRecord {
    pub(crate) id: String,
    pub(crate) page_type: PageType,
    pub(crate) title: String,
    pub(crate) overview: String,
    pub(crate) content: String,
    pub(crate) domains: Vec<String>,
    pub(crate) sources: Vec<PageSource>,
    /// As declared, repetitions included.
    pub(crate) links: Vec<PageLink>,
    pub(crate) last_updated: Option<String>,
    /// Of the file's bytes, or of the fields where there is no file.
    pub(crate) hash: String,
    pub(crate) origin: Option<PageOrigin>,
}

impl PageRecord {
    /// The id in the form in which ids are compared.
    pub(crate) fn key(&self) -> String {
        ids::key(&self.id)
    }

    /// What of it is embedded.
    pub(crate) fn text_to_embed(&self) -> String {
        embedded_text(&self.title, &self.overview, &self.domains, &self.content)
    }

    /// Another one for each other [text](Self::text_to_embed).
    pub(crate) fn version_to_embed(&self) -> String {
        sha256_hex(self.text_to_embed())
    }

    /// The page as readers see it, with the pages it is linked to.
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

    /// The page that a file holds, and the unknown edges that it declares.
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

    /// The page that a caller wrote, and the unknown edges in its content; `now` is its date. The content is read as
    /// that of a file: what it says counts where the caller says nothing beside it.
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
        let said = page.with_content(&draft.content);
        fn or_parsed<T>(list: Vec<T>, said: Vec<T>) -> Vec<T> {
            if list.is_empty() { said } else { list }
        }
        let page = Self {
            overview: if page.overview.is_empty() { said.overview } else { page.overview },
            content: said.content,
            domains: or_parsed(page.domains, said.domains),
            sources: or_parsed(page.sources, said.sources),
            links: or_parsed(page.links, said.links),
            ..page
        };
        (page.with_field_hash(), said.unknown_edges)
    }

    /// What the page would say as a file with this content.
    pub(crate) fn with_content(&self, content: &str) -> ParsedPage {
        parse::parse(&format!("# {}: {}\n\n{content}\n", self.page_type, self.title))
    }

    /// The page as a file would say it.
    pub(crate) fn parsed(&self) -> ParsedPage {
        ParsedPage {
            title: Some(self.title.clone()),
            page_type: Some(self.page_type),
            // An overview that the content says anyway follows the content.
            own_overview: !self.overview.is_empty() && {
                let said = self.with_content(&self.content);
                said.own_overview || said.overview != self.overview
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
        self.hash = format!("{FIELDS}{}", hex(hasher.finalize()));
        self
    }
}

/// The id that a draft gets.
pub(crate) fn draft_id(draft: &PageDraft) -> String {
    ids::join(draft.page_type, &draft.title.replace(' ', "_"))
}

/// The hash under which a file's page is stored.
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
