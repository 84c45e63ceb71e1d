//! The reply if no document matches: the repository's guide and suggestions. An unreachable engine is a fault instead.

use gatehouse_sdk::{
    Call, Fault, Reply, context,
    documents::{self, SearchResult},
};
use gatehouse_wiki::{code, one_line, shorten};

use crate::{
    Params,
    retrieve::{self, RetrievedDocument},
};

pub(crate) fn reply(
    call: &Call<Params>,
    repository: &str,
    query: &str,
    result: &SearchResult,
) -> Result<Reply, Fault> {
    let all = documents::repositories(true)?;
    let this = all.iter().find(|r| r.name.eq_ignore_ascii_case(repository.trim()));
    let guide = this.and_then(|repository| repository.navigation_guide.as_deref()).unwrap_or_default();
    let mut content = format!(
        "No document of {} answers: \"{}\"\n\nTry:\n",
        code(&one_line(repository, 100)),
        shorten(&one_line(query, 400), 300)
    );
    let nearest: Vec<String> = result.hits.iter().map(|hit| code(&one_line(&hit.path, 300))).collect();
    if !nearest.is_empty() {
        content += &format!("- The nearest documents, which do not fit: {}\n", nearest.join(", "));
    }
    content += "- Terms from the guide below, or fewer and broader terms\n- The other search_type\n";
    let others: Vec<String> = all
        .iter()
        .filter(|other| this.is_none_or(|this| this.name != other.name))
        .map(|other| code(&one_line(&other.name, 100)))
        .take(10)
        .collect();
    if !others.is_empty() {
        content += &format!("- Another repository: {}\n", others.join(", "));
    }
    if let Some(tool) = context::exposed_name("search_knowledge") {
        content += &format!("- `{tool}` for the knowledge graph\n");
    }
    let mut notes = retrieve::notes(result);
    if guide.trim().is_empty() {
        notes.push("This repository has no navigation guide yet.".into());
    } else {
        content += &format!("\n{}\n", guide.trim());
    }
    content += &notes.iter().map(|note| format!("\n{note}\n")).collect::<String>();
    let found = RetrievedDocument {
        token_count: call.params.count(&content)?,
        content,
        sources: vec!["Navigation Guide".into()],
        was_compressed: false,
        original_token_count: None,
        method: "navigation".into(),
        fit: "nothing",
        notes,
        others: Vec::new(),
    };
    Reply::markdown(found.content.clone()).structured(&found)
}
