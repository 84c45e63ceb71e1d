//! `get_wiki_page`: reads one page by title or ID. `gatehouse_wiki` formats the reply.

use gatehouse_sdk::{Call, Fault, Offset, Reply, Tool};
use gatehouse_wiki::PageData;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Params;

const TOOL: &str = "get_wiki_page";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Title, or id such as Principle/LoRA_Configuration.
    #[schemars(length(min = 1, max = 1000))]
    page_title: String,
    /// Character to continue a long page from.
    offset: Option<Offset>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(TOOL)
        .title("Read a wiki page")
        .description(|_| {
            "Read one full wiki page, found by search_knowledge or a link; a long one in pieces of 8,000 tokens. \
            Returns overview, content, sources and links in both directions; if the page is missing, the nearest \
            titles. Next: read the linked pages."
        })
        .idempotent()
        .output::<PageData>()
        .run(|_: &Call<Params>, args: Args| -> Result<Reply, Fault> {
            let offset = args.offset.unwrap_or(Offset::new(0));
            let (text, page) = gatehouse_wiki::read_page(TOOL, &args.page_title, offset)?;
            Reply::markdown(text).structured(&page)
        })
}
