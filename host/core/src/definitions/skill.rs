//! Agent skills (SEP-2640): instructions and files that an agent reads when a task needs them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Skill {
    /// URI of its `SKILL.md`.
    pub uri: String,
    /// Frontmatter of its `SKILL.md`, with `name` and `description`.
    pub frontmatter: Map<String, Value>,
    /// `None` if its files change too often for digests.
    pub files: Option<Vec<SkillFile>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillFile {
    pub uri: String,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// Bytes.
    pub size: u64,
}

impl Skill {
    pub fn name(&self) -> &str {
        self.frontmatter.get("name").and_then(Value::as_str).unwrap_or_default()
    }

    pub fn description(&self) -> &str {
        self.frontmatter.get("description").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the start of the URIs of its files, with the slash at the end.
    pub fn root(&self) -> &str {
        self.uri.rfind('/').map_or("", |end| &self.uri[..=end])
    }

    pub fn file(&self, uri: &str) -> Option<&SkillFile> {
        self.files.iter().flatten().find(|file| file.uri == uri)
    }

    /// Returns the entries of a directory by name, each with true for a directory. `None` if the skill has no such
    /// directory. `uri` may end with a slash.
    pub fn directory(&self, uri: &str) -> Option<Vec<(String, bool)>> {
        let folder = format!("{}/", uri.trim_end_matches('/'));
        folder.starts_with(self.root()).then_some(())?;
        let below = self.files.iter().flatten().filter_map(|file| file.uri.strip_prefix(&folder));
        let mut entries: Vec<(String, bool)> = below
            .map(|rest| match rest.split_once('/') {
                Some((name, _)) => (format!("{folder}{name}"), true),
                None => (format!("{folder}{rest}"), false),
            })
            .collect();
        entries.sort();
        entries.dedup();
        (!entries.is_empty()).then_some(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_those_of_the_files() {
        let file =
            |path: &str| SkillFile { uri: format!("skill://a/{path}"), digest: String::new(), size: 1 };
        let files = ["SKILL.md", "refs/x.md", "refs/deep/y.md", "refs/z.md"].map(file).to_vec();
        let skill = Skill {
            uri: "skill://a/SKILL.md".into(),
            frontmatter: Map::new(),
            files: Some(files),
            meta: None,
        };
        let names = |uri: &str| {
            let entries = skill.directory(uri)?;
            Some(entries.into_iter().map(|(uri, is_folder)| format!("{uri} {is_folder}")).collect::<Vec<_>>())
        };
        let root = ["skill://a/SKILL.md false", "skill://a/refs true"];
        assert_eq!(names("skill://a").as_deref(), Some(&root.map(String::from)[..]));
        assert_eq!(names("skill://a/"), names("skill://a"));
        let refs = ["skill://a/refs/deep true", "skill://a/refs/x.md false", "skill://a/refs/z.md false"];
        assert_eq!(names("skill://a/refs").as_deref(), Some(&refs.map(String::from)[..]));
        for other in ["skill://a/refs/x.md", "skill://a/other", "skill://b", "skill://"] {
            assert_eq!(names(other), None, "{other}");
        }
    }
}
