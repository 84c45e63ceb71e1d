//! Agent skills that fit a search for tools: an agent reads a skill before it does what the skill is about.

use gatehouse_core::{
    Catalog, SourceId, names::quoted, ports::tool_index::ToolSearchRequest, search::RowSet, skill::Skill,
};

use super::unlisted::search_few;

/// Skills that one search names.
const MAX_SKILLS: usize = 3;

/// Bytes of the URI of a skill that is named. A shortened URI could not be read.
const MAX_URI: usize = 512;

/// Returns a line for each skill of the preset that fits, best first. `server` limits them to those of a server.
pub(super) fn fitting(
    catalog: &Catalog,
    question: &ToolSearchRequest,
    server: Option<&str>,
) -> Option<String> {
    let all = &catalog.resources_and_prompts;
    let of_server =
        |id: &SourceId| server.is_none_or(|server| matches!(id, SourceId::Server(name) if **name == *server));
    let skills: Vec<(&SourceId, &Skill)> = all.skills_by_source().collect();
    let is_meant = |(id, skill): &(&SourceId, &Skill)| of_server(id) && skill.uri.len() <= MAX_URI;
    let meant: RowSet = (0..skills.len()).filter(|place| is_meant(&skills[*place])).collect();
    if !skills.iter().any(is_meant) {
        return None;
    }
    let question = ToolSearchRequest { limit: MAX_SKILLS, ..question.clone() };
    let found = search_few(vec![all.skill_index()], &meant, &question);
    let lines = found.tools.iter().filter_map(|found| skills.get(found.tool));
    let lines: Vec<String> = lines.map(|(_, skill)| line(skill)).collect();
    (!lines.is_empty()).then(|| format!("Skills to read first:\n{}", lines.join("\n")))
}

fn line(skill: &Skill) -> String {
    format!("{}: {}", quoted(&skill.uri, MAX_URI), quoted(skill.description(), 200))
}
