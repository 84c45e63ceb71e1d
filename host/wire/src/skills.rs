//! Conversion of skills from and to MCP, and checks of what a source says about them.

use gatehouse_core::{
    names::quoted,
    outcome::{EmbeddedResource, ResourceBody},
    skill::{Skill, SkillFile},
};
use rmcp::model::{self, MetaObject, SkillFrontmatter, SkillResource, SkillResources};
use serde_json::{Map, Value};

/// Maximum files and bytes of a skill. Hosts need not load larger ones.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 << 20;

/// Converts a skill.
///
/// # Errors
///
/// Why it cannot be used.
pub(crate) fn from_mcp(skill: &model::Skill) -> Result<Skill, String> {
    skill.validate().map_err(|error| error.to_string())?;
    let Ok(Value::Object(frontmatter)) = serde_json::to_value(&skill.frontmatter) else {
        return Err("its frontmatter is not an object".into());
    };
    let files = match &skill.resources {
        SkillResources::Files(files) => Some(files),
        _ => None,
    };
    let bytes = files.iter().flat_map(|files| files.iter()).map(|file| file.size).sum::<u64>();
    if files.is_some_and(|files| files.len() > MAX_FILES) || bytes > MAX_BYTES {
        return Err(format!("it has more than {MAX_FILES} files or {} MiB", MAX_BYTES >> 20));
    }
    let file = |file: &SkillResource| SkillFile {
        uri: file.uri.clone(),
        digest: file.digest.clone(),
        size: file.size,
    };
    Ok(Skill {
        uri: skill.uri.clone(),
        frontmatter,
        files: files.map(|files| files.iter().map(file).collect()),
        meta: skill.meta.as_ref().map(|meta| meta.0.clone()),
    })
}

/// Converts a skill. `None` if it is not one for MCP.
pub(crate) fn to_mcp(skill: &Skill) -> Option<model::Skill> {
    let frontmatter: SkillFrontmatter =
        serde_json::from_value(Value::Object(skill.frontmatter.clone())).ok()?;
    let file = |file: &SkillFile| SkillResource::new(&file.uri, &file.digest, file.size);
    let files = match &skill.files {
        Some(files) => SkillResources::Files(files.iter().map(file).collect()),
        None => SkillResources::Dynamic,
    };
    let mut converted = model::Skill::new(&skill.uri, frontmatter, files);
    converted.meta = skill.meta.clone().map(MetaObject);
    converted.validate().ok()?;
    Some(converted)
}

/// Checks a file as read against the manifest of its skill.
///
/// # Errors
///
/// What differs.
pub(crate) fn verify(skill: &Skill, uri: &str, read: &[EmbeddedResource]) -> Result<(), String> {
    let Some(files) = &skill.files else { return Ok(()) };
    let shown = quoted(uri, 256);
    let Some(file) = files.iter().find(|file| file.uri == uri) else {
        return Err(format!("the skill '{}' lists no file '{shown}'", quoted(skill.name(), 64)));
    };
    let [content] = read else {
        return Err(format!("'{shown}' was read as {} contents instead of one", read.len()));
    };
    let bytes = match &content.body {
        ResourceBody::Text(text) => text.as_bytes(),
        ResourceBody::Blob(bytes) => bytes,
    };
    let declared = SkillResource::new(&file.uri, &file.digest, file.size);
    declared.verify(bytes).map_err(|_| {
        format!("'{shown}' has {} bytes that do not match the digest and size in its skill", bytes.len())
    })?;
    if uri == skill.uri && frontmatter(bytes).as_ref() != Some(&skill.frontmatter) {
        return Err(format!("the frontmatter of '{shown}' differs from that of its skill"));
    }
    Ok(())
}

/// Returns the YAML between the first two lines of `---`.
fn frontmatter(bytes: &[u8]) -> Option<Map<String, Value>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?.trim_start_matches('\r').strip_prefix('\n')?;
    let end = rest.lines().scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some((start, line))
    });
    let end = end.into_iter().find(|(_, line)| line.trim_end() == "---")?.0;
    yaml_serde::from_str(rest.get(..end)?).ok()
}
