//! Which tool reads a page whole in the caller's preset: a reply must not name one that the caller does not have.

use gatehouse_sdk::context;

use crate::{code, one_line};

/// A tool that takes a page's id and answers with the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageReader {
    /// The name that its gate declares.
    pub(crate) tool: &'static str,
    pub(crate) argument: &'static str,
}

/// The tool of kg, which shows links and sources by name, and the two that find pages.
const READERS: [PageReader; 3] = [
    PageReader { tool: "get_wiki_page", argument: "page_title" },
    PageReader { tool: "wiki_code_search", argument: "page" },
    PageReader { tool: "wiki_idea_search", argument: "page" },
];

/// How the caller reads the page with this id: the tool's name as the caller has it, and the argument. The tool that
/// the caller has just used comes before the others, since it is known to be there.
pub(crate) fn pointer(used: &str, id: &str) -> Option<String> {
    let mut readers = READERS;
    readers.sort_by_key(|reader| reader.tool != used);
    let exposed = |reader: &PageReader| Some((context::exposed_name(reader.tool)?, reader.argument));
    let (tool, argument) = readers.iter().find_map(exposed)?;
    Some(format!("{} with {argument} {}", code(&tool), code(&one_line(id, 300))))
}
