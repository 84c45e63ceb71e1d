//! Agent skills that fit a search for tools: an agent reads a skill before it does what the skill is about.

use std::sync::Arc;

use gatehouse_core::{
    Catalog, SourceId, ToolSpec,
    effect::{Effect, Intent},
    names::quoted,
    ports::tool_index::ToolSearchRequest,
    search::tools::ToolSegment,
    skill::Skill,
};
use serde_json::Value;

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
    let all = catalog.resources_and_prompts.skills_by_source();
    let of_server =
        |id: &SourceId| server.is_none_or(|server| matches!(id, SourceId::Server(name) if **name == *server));
    let skills: Vec<&Skill> = all
        .filter(|(id, skill)| of_server(id) && skill.uri.len() <= MAX_URI)
        .map(|(_, skill)| skill)
        .collect();
    if skills.is_empty() {
        return None;
    }
    let source = SourceId::Gate("skills".into());
    let spec = |skill: &&Skill| {
        let spec = ToolSpec {
            name: skill.name().into(),
            title: None,
            description: description(skill).to_owned(),
            input_schema: Arc::default(),
            output_schema: None,
            intent: Intent::Query,
            effect: Effect::ReadOnly,
            idempotent: true,
            open_world: false,
            dry_run: None,
            additive: false,
            meta: None,
            icons: Vec::new(),
        };
        ToolSegment::new(&source, &[Arc::new(spec)])
    };
    let segments: Vec<ToolSegment> = skills.iter().map(spec).collect();
    let found = search_few(&segments, &ToolSearchRequest { limit: MAX_SKILLS, ..question.clone() });
    let lines: Vec<String> =
        found.tools.iter().filter_map(|found| skills.get(found.tool)).map(|skill| line(skill)).collect();
    (!lines.is_empty()).then(|| format!("Skills to read first:\n{}", lines.join("\n")))
}

fn description(skill: &Skill) -> &str {
    skill.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
}

fn line(skill: &Skill) -> String {
    format!("{}: {}", quoted(&skill.uri, MAX_URI), quoted(description(skill), 200))
}
