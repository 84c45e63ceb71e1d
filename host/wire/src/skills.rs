//! Conversion of skills from and to MCP, and checks of what a source says about them.

mod expected_value;

use gatehouse_core::{
    names::quoted,
    outcome::{EmbeddedResource, ResourceBody},
    skill::{Skill, SkillFile},
};
use rmcp::model::{self, MetaObject, SkillFrontmatter, SkillResource, SkillResources};
use serde::de::DeserializeSeed as _;
use serde_json::{Map, Value};

use self::expected_value::ExpectedObject;

/// Maximum files and bytes of a skill. Hosts need not load larger ones.
const MAX_FILES: usize = 512;
const MAX_BYTES: u64 = 16 << 20;

/// Converts a skill, or returns why it cannot be used.
pub(crate) fn from_mcp(skill: &model::Skill) -> Result<Skill, String> {
    skill.validate().map_err(|error| error.to_string())?;
    let Ok(Value::Object(frontmatter)) = serde_json::to_value(&skill.frontmatter) else {
        return Err("its frontmatter is not an object".into());
    };
    let files = match &skill.resources {
        SkillResources::Files(files) => Some(files),
        _ => None,
    };
    // A server may list any size.
    let bytes =
        files.iter().flat_map(|files| files.iter()).fold(0, |sum: u64, file| sum.saturating_add(file.size));
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

/// Checks a file as read against the manifest of its skill. Returns what differs as the error.
pub(crate) fn verify(skill: &Skill, uri: &str, read: &[EmbeddedResource]) -> Result<(), String> {
    let Some(files) = &skill.files else { return Ok(()) };
    let quoted_uri = quoted(uri, 256);
    let Some(file) = files.iter().find(|file| file.uri == uri) else {
        return Err(format!("the skill '{}' lists no file '{quoted_uri}'", quoted(skill.name(), 64)));
    };
    let [content] = read else {
        return Err(format!("'{quoted_uri}' was read as {} contents instead of one", read.len()));
    };
    let bytes = match &content.body {
        ResourceBody::Text(text) => text.as_bytes(),
        ResourceBody::Blob(bytes) => bytes,
    };
    let declared = SkillResource::new(&file.uri, &file.digest, file.size);
    declared.verify(bytes).map_err(|_| {
        format!("'{quoted_uri}' has {} bytes that do not match the digest and size in its skill", bytes.len())
    })?;
    if uri == skill.uri && !has_frontmatter(bytes, &skill.frontmatter) {
        return Err(format!("the frontmatter of '{quoted_uri}' differs from that of its skill"));
    }
    Ok(())
}

/// Limits of YAML, whose parser takes time that is quadratic in the nesting. Real frontmatter has a few hundred bytes.
const MAX_FRONTMATTER: usize = 8 << 10;
const MAX_NESTING: usize = 64;

/// Returns true if YAML cannot nest deeper than [`MAX_NESTING`]: brackets, in quotes too, and columns of a line's first
/// word, because each level of a block is indented.
fn is_shallow(yaml: &str) -> bool {
    let mut open = 0_usize;
    let is_flat =
        |line: &str| line.len() - line.trim_start_matches([' ', '-', '?', ':', '\t']).len() <= MAX_NESTING;
    yaml.lines().all(is_flat)
        && yaml.bytes().all(|byte| {
            match byte {
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            open <= MAX_NESTING
        })
}

/// Whether the YAML between the first two lines of `---` has this content.
fn has_frontmatter(bytes: &[u8], expected: &Map<String, Value>) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = text.strip_prefix("---") else { return false };
    let Some(rest) = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n') else { return false };
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let parsed = rest.get(..end).filter(|yaml| yaml.len() <= MAX_FRONTMATTER && is_shallow(yaml));
            let parsed = parsed.map(yaml_serde::Deserializer::from_str);
            return parsed.is_some_and(|yaml| ExpectedObject(expected).deserialize(yaml).is_ok());
        }
        end += line.len();
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URI: &str = "skill://notes/SKILL.md";
    const TEXT: &str = "---\nname: notes\ndescription: \"a: b\"\n---\n\nText.\n";

    fn skill(text: &str) -> Skill {
        let files = SkillResources::Files(vec![SkillResource::from_bytes(URI, text.as_bytes())]);
        let frontmatter = SkillFrontmatter::new("notes", "a: b");
        from_mcp(&model::Skill::new(URI, frontmatter, files)).expect("a skill")
    }

    fn content(text: &str) -> EmbeddedResource {
        let body = ResourceBody::Text(text.to_owned());
        EmbeddedResource { uri: URI.to_owned(), mime_type: None, body, meta: None }
    }

    #[test]
    fn a_file_is_used_only_as_its_skill_lists_it() {
        assert_eq!(verify(&skill(TEXT), URI, &[content(TEXT)]), Ok(()));
        let wrong = |skill: &Skill, uri: &str, read: &[EmbeddedResource], part: &str| {
            let reason = verify(skill, uri, read).expect_err("refused");
            assert!(reason.contains(part), "{reason}");
        };
        wrong(&skill(TEXT), URI, &[content(&TEXT.replace("Text", "Tent"))], "do not match");
        wrong(&skill(TEXT), URI, &[content("")], "0 bytes");
        wrong(&skill(TEXT), URI, &[content(TEXT), content(TEXT)], "2 contents");
        wrong(&skill(TEXT), "skill://notes/other.md", &[content(TEXT)], "lists no file");
        for other in ["---\nname: notes\ndescription: c\n---\n", "no frontmatter", "---\nname: notes\n"] {
            wrong(&skill(other), URI, &[content(other)], "frontmatter");
        }
        for deep in ["[".repeat(60_000), "[".repeat(65), "- ".repeat(4_000), "{a: ".repeat(65)] {
            let deep = TEXT.replace("Text", "").replace("name:", &format!("x: {deep}\nname:"));
            wrong(&skill(&deep), URI, &[content(&deep)], "frontmatter");
        }
        let dynamic = Skill { files: None, ..skill(TEXT) };
        assert_eq!(verify(&dynamic, URI, &[content("anything")]), Ok(()));
    }

    #[test]
    fn skills_with_bad_lists_are_refused() {
        let listed = |frontmatter: Value, files: Value| {
            let skill = json!({"uri": URI, "frontmatter": frontmatter, "resources": files});
            from_mcp(&serde_json::from_value(skill).expect("an entry")).map(|skill| to_mcp(&skill).is_some())
        };
        let digest = model::sha256_digest(b"");
        let frontmatter = json!({"name": "notes", "description": "d", "x": {"y": [1]}});
        let file = |uri: &str, size: u64| json!({"uri": uri, "digest": digest, "size": size});
        assert_eq!(listed(frontmatter.clone(), json!([file(URI, 1)])), Ok(true));
        assert_eq!(listed(frontmatter.clone(), json!("dynamic")), Ok(true));
        let bad = [
            (json!({"name": "other", "description": "d"}), json!([file(URI, 1)])),
            (frontmatter.clone(), json!([])),
            (frontmatter.clone(), json!([file(URI, 1), file("skill://notes/../x", 1)])),
            (frontmatter.clone(), json!([file(URI, 1), file(URI, 1)])),
            (frontmatter.clone(), json!([{"uri": URI, "digest": "sha256:1", "size": 1}])),
            (frontmatter, json!([file(URI, MAX_BYTES + 1)])),
        ];
        for (frontmatter, files) in bad {
            assert!(listed(frontmatter, files.clone()).is_err(), "{files}");
        }
    }
}
