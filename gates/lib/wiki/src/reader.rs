//! Selects a tool to read a page with, because replies must only name tools that the caller has.

use gatehouse_sdk::context;

use crate::{code, one_line};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageReader {
    pub(crate) tool: &'static str,
    pub(crate) argument: &'static str,
}

/// By preference: kg's tool also shows links and sources.
const READERS: [PageReader; 3] = [
    PageReader { tool: "get_wiki_page", argument: "page_title" },
    PageReader { tool: "wiki_code_search", argument: "page" },
    PageReader { tool: "wiki_idea_search", argument: "page" },
];

/// Returns the exposed tool and argument to read a page with, preferably the tool just called (`used`). `None` if the
/// caller has no reader.
pub(crate) fn pointer(used: &str, id: &str) -> Option<String> {
    let mut readers = READERS;
    readers.sort_by_key(|reader| reader.tool != used);
    let exposed = |reader: &PageReader| Some((context::exposed_name(reader.tool)?, reader.argument));
    let (tool, argument) = readers.iter().find_map(exposed)?;
    Some(format!("{} with {argument} {}", code(&tool), code(&one_line(id, 300))))
}
