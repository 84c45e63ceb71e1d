//! `get_workspace_file`: returns any part of a stored result, one page at a time.

mod page;
mod select;

use gatehouse_sdk::{Call, Content, Fault, Offset, Reply, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, resources::artifact_id};
use page::ContentPage;

pub(crate) const NAME: &str = "get_workspace_file";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// An artifact id.
    path: String,
    offset: Option<Offset>,
    json_pointer: Option<String>,
    #[schemars(length(max = 8192))]
    jq: Option<String>,
    /// `12` or `12-80`, from 1.
    lines: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct WorkspaceFile {
    path: String,
    content: String,
    /// Unit of offset, next and total.
    unit: &'static str,
    offset: u64,
    /// Offset of the next page, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<u64>,
    total: u64,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| {
            format!(
                "Any part of a stored result, {} characters a page. With json_pointer or jq, pages are whole \
                elements.",
                page::MAX_PAGE_CHARS
            )
        })
        .default_from("offset", |_| 0.into())
        .meta(|_| Some(crate::long_results()))
        .idempotent()
        .output::<WorkspaceFile>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let id = artifact_id(&args.path).to_owned();
    let offset = u64::from(args.offset.map_or(0, |offset| offset.at_most(u32::MAX)));
    let page = select::page(&id, &args, offset)?;
    let head = head(&id, offset, &page);
    let ContentPage { content, unit, next, total, .. } = page;
    let part = WorkspaceFile { path: id, content, unit, offset, next, total };
    Reply::markdown(head).with(Content::Text(part.content.clone())).structured(&part)
}

fn head(id: &str, offset: u64, page: &ContentPage) -> String {
    let ContentPage { unit, next, total, note, .. } = page;
    let end = next.unwrap_or(*total);
    let place = if *unit == page::VALUE {
        "the value.".into()
    } else if offset == 0 && next.is_none() {
        format!("all {total} {unit}.")
    } else {
        format!("{unit} {offset}-{end} of {total}.")
    };
    let next = next.map(|next| format!(" Next: offset {next}.")).unwrap_or_default();
    let note = note.as_ref().map(|note| format!(" {note}")).unwrap_or_default();
    format!("{id}: {place}{next}{note}")
}
