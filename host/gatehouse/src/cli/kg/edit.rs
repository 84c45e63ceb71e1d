//! `gatehouse kg edit`

use gatehouse_core::ports::{KnowledgeGraph, knowledge::PageChanges};
use gatehouse_stores::WikiKnowledge;
use serde_json::json;

use super::{CommandError, EditPageArgs};
use crate::out;

pub(super) async fn edit(knowledge: &WikiKnowledge, arguments: EditPageArgs) -> Result<(), CommandError> {
    let changes = PageChanges {
        overview: arguments.overview,
        content: arguments.content,
        domains: arguments.domains,
        ..PageChanges::default()
    };
    if changes == PageChanges::default() {
        return Err(CommandError::Usage("nothing to change: give --overview, --content or --domains".into()));
    }
    let report = knowledge.patch(&arguments.page, changes, arguments.wiki_dir, !arguments.keep_date).await?;
    if arguments.json {
        out::json(&json!(report));
        return Ok(());
    }
    let file = report.file.map(|file| format!(" and in {file}")).unwrap_or_default();
    match report.changed.as_slice() {
        [] => out::line(format!("{} is unchanged", report.id)),
        changed => out::line(format!("{}: changed {} in the store{file}", report.id, changed.join(", "))),
    }
    Ok(())
}
