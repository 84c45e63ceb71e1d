//! `select` of `call_tool`: returns a part of a result. If the preset grants artifacts, the full result is stored as
//! one. The reply reports if the rest is lost.

use gatehouse_sdk::{
    Content, FaultKind, Reply,
    artifacts::{self, Draft},
};

use crate::{call::Args, reply_format};

/// Applies a filter to a reply and adds a line that reports it. If the filter fails on this result, the full result is
/// returned.
pub(crate) fn apply(args: &Args, reply: Reply, program: &str) -> Reply {
    let whole = match &reply.structured {
        Some(data) => data.clone(),
        None => reply.text(),
    };
    let outputs = match gatehouse_jq::run(&whole, program) {
        Ok(outputs) => outputs,
        Err(fault) => {
            return reply
                .with(Content::Text(format!("select failed; this is the full result: {}", fault.message)));
        }
    };
    let count = outputs.values.len();
    let kept = store_whole(args, &whole);
    let note = outputs.note.map(|note| format!(" {note}")).unwrap_or_default();
    let characters = whole.chars().count();
    let said = format!("select: {count} values of a result of {characters} characters.{note} {kept}");
    let mut content = vec![Content::Text(outputs.values.join("\n"))];
    content.extend(reply.content.into_iter().filter(|block| !matches!(block, Content::Text(_))));
    content.push(Content::Text(said));
    Reply { content, structured: None, is_error: false, meta: reply.meta }
}

fn store_whole(args: &Args, whole: &str) -> String {
    let draft = Draft {
        text: whole.to_owned(),
        mime_type: "application/json".into(),
        tool: Some(args.tool.clone()),
        source: Some(args.server.clone()),
        summary: None,
        tags: Vec::new(),
        ttl_ms: None,
    };
    match artifacts::put(&draft) {
        Ok(artifact) => {
            let how = reply_format::hint("get_workspace_file", |file| format!("; {file} reads any part"));
            format!("The full result is stored as {}{}.", artifact.id, how.unwrap_or_default())
        }
        // Not to grant artifacts is a choice.
        Err(fault) if fault.kind == FaultKind::Denied => "The rest is not stored.".into(),
        Err(fault) => format!("The rest is not stored: {}", fault.message),
    }
}
