//! Skills of a server: which of them clients get, and the check of each file that a client reads.

use std::collections::HashSet;

use gatehouse_core::{
    Fault, hidden_chars, names::quoted, outcome::EmbeddedResource, skill::Skill, source::Listing,
};
use serde_json::Value;

use super::DownstreamServer;
use crate::skills;

/// Maximum bytes of all skills of a server: frontmatter and lists of files.
const MAX_SKILL_BYTES: usize = 1 << 20;

impl DownstreamServer {
    /// Maps the URIs of skills. Removes those that clients could not check, or that hide something in their frontmatter:
    /// it cannot be cleaned, because digests cover it.
    pub(super) fn expose_skills(&self, listing: &mut Listing) {
        let mut remaining_bytes = MAX_SKILL_BYTES;
        let mut seen = HashSet::new();
        for mut skill in std::mem::take(&mut listing.skills) {
            let name = quoted(skill.name(), 64);
            match self.exposed_skill(&mut skill, &mut remaining_bytes) {
                Ok(()) if seen.insert(skill.uri.clone()) => listing.skills.push(skill),
                Ok(()) => listing.omitted.add(1, format!("skill '{name}': it is listed twice")),
                Err(reason) => listing.omitted.add(1, format!("skill '{name}': {reason}")),
            }
        }
    }

    fn exposed_skill(&self, skill: &mut Skill, remaining_bytes: &mut usize) -> Result<(), &'static str> {
        let root = skill.root().to_owned();
        let is_one = |uri: &String| uri.starts_with("skill://") && uri.starts_with(&root) && is_normal(uri);
        let files = skill.files.iter().flatten().map(|file| &file.uri);
        // A file under another spelling of its URI would not be recognized as part of the skill.
        if !files.chain([&skill.uri]).all(is_one) {
            return Err("its URI or that of a file is not a normalized skill:// URI within the skill");
        }
        let uris = skill.files.iter_mut().flatten().map(|file| &mut file.uri).chain([&mut skill.uri]);
        for uri in uris {
            *uri = self.uris.to_exposed(uri).ok_or("its URI is too long")?;
        }
        let text = serde_json::to_string(&skill).unwrap_or_default();
        *remaining_bytes = remaining_bytes
            .checked_sub(text.len())
            .ok_or("the skills of the server are too large together")?;
        let texts = [Some(&skill.frontmatter), skill.meta.as_ref()].into_iter().flatten();
        if texts.cloned().any(|object| hidden_chars::strip_value(&mut Value::Object(object)) > 0) {
            return Err("it has hidden characters");
        }
        if self.limits.redactor.redact_text(text.clone()) != text {
            return Err("it contains a secret of the server");
        }
        skills::to_mcp(skill).map(drop).ok_or("its name or its files are invalid")
    }

    /// Checks what was read, if it is a file of a skill, and returns the URI by which clients know it.
    pub(super) async fn verify_skill_file(
        &self,
        upstream: &str,
        read: &[EmbeddedResource],
    ) -> Result<Option<String>, Fault> {
        let Some(exposed) = self.uris.to_exposed(upstream).filter(|uri| self.uris.skill_family.matches(uri))
        else {
            return Ok(None);
        };
        let server_listing = self.known().await?;
        let skills = server_listing.iter().flat_map(|server_listing| &server_listing.listing.skills);
        let covering: Vec<&Skill> = skills.filter(|skill| exposed.starts_with(skill.root())).collect();
        let Some(nearest) = covering.iter().max_by_key(|skill| skill.root().len()) else { return Ok(None) };
        let listing = covering.iter().filter(|skill| skill.file(&exposed).is_some());
        // Skills may lie within others. Each that lists the file has to agree, or else the nearest.
        let mut checked = listing.chain([nearest]);
        let checked = checked.try_for_each(|skill| skills::verify(skill, &exposed, read));
        checked.map(|()| Some(exposed)).map_err(|reason| {
            let fault =
                Fault::denied(format!("server '{}' sent another file: {reason}", self.definition.name));
            fault.hint("Do not use the file. The server has to list its skills again if they changed.")
        })
    }
}

/// Whether a URI has only one spelling: without dot segments, and with escapes only where they are needed, in capitals.
fn is_normal(uri: &str) -> bool {
    let path = uri.strip_prefix("skill://").unwrap_or(uri);
    let segments = path.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    let escapes = uri.split('%').skip(1).all(|rest| {
        let hex =
            rest.get(..2).filter(|hex| hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F')));
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        byte.is_some_and(|byte| !(byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)))
    });
    let plain = uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}?#".contains(&byte));
    segments && escapes && plain && !path.starts_with('~')
}

#[cfg(test)]
mod tests {
    use super::is_normal;

    #[test]
    fn a_file_has_one_spelling() {
        for uri in ["skill://a/SKILL.md", "skill://x/a/refs/a%20b.md", "skill://a/caf%C3%A9.md"] {
            assert!(is_normal(uri), "{uri}");
        }
        for uri in [
            "skill://a/%53KILL.md",
            "skill://a/caf%c3%a9.md",
            "skill://a/café.md",
            "skill://a/../b/SKILL.md",
            "skill://a/./SKILL.md",
            "skill://a//SKILL.md",
            "skill://~a/SKILL.md",
            "skill://a/x?y",
            "skill://a/100%",
            "skill://a/b c",
        ] {
            assert!(!is_normal(uri), "{uri}");
        }
    }
}
