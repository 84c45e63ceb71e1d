//! Skills from folders on this machine, as a source of a preset.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Call, Fault, Outcome, Source, SourceId,
    catalog::ToolEntry,
    names::quoted,
    outcome::{EmbeddedResource, ResourceLink},
    resource::{ResourcePage, UriTemplate},
    skill::Skill,
    source::Listing,
};
use rmcp::handler::server::skill_catalog::{SkillCatalog, SkillCatalogError};
use serde_json::{Map, Value};

use crate::{downstream::convert, skills};

/// Name of the source. No gate of the same preset may have it.
pub const SKILLS_SOURCE: &str = "skills";

/// Maximum total size of the files below the folders of a preset, in bytes. They are kept in memory.
const MAX_BYTES: u64 = 64 << 20;

/// Maximum depth of folders below a folder of skills.
const MAX_DEPTH: usize = 32;

/// Start of the URIs of servers' skills.
const RESERVED: &str = "skill://server/";

/// The skills of the folders that a preset names.
pub struct SkillFolders {
    id: SourceId,
    catalogs: Vec<SkillCatalog>,
    /// Folder of each skill, by the root of its URIs.
    places: HashMap<String, usize>,
    listing: Arc<Listing>,
}

impl SkillFolders {
    /// Reads all files of the folders. Blocks. A skill that cannot be used is left out, with a warning, and so is a folder
    /// whose files exceed [`MAX_BYTES`] together with those before it.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn load(folders: &[PathBuf]) -> Result<Self, SkillCatalogError> {
        let mut left = MAX_BYTES;
        let is_within_limit = |folder: &&PathBuf| {
            let size = size_below(folder, MAX_DEPTH);
            if size > left {
                tracing::warn!(
                    "leaving out the skills of {}: with {size} bytes, the folders of the preset exceed {MAX_BYTES} bytes",
                    folder.display()
                );
                return false;
            }
            left -= size;
            true
        };
        let folders: Vec<&PathBuf> = folders.iter().filter(is_within_limit).collect();
        let catalogs: Vec<SkillCatalog> =
            folders.iter().copied().map(SkillCatalog::from_dir).collect::<Result<_, _>>()?;
        let mut places = HashMap::new();
        let mut listing = Listing { name: SKILLS_SOURCE.into(), resources: true, ..Listing::default() };
        for (number, catalog) in catalogs.iter().enumerate() {
            for skill in catalog.skills().iter().filter_map(|skill| skills::from_mcp(skill).ok()) {
                let root = skill.root().to_owned();
                if root.starts_with(RESERVED) || places.contains_key(&root) {
                    let folder = folders[number].display();
                    tracing::warn!("leaving out the skill {} of {folder}: its URI is taken", skill.uri);
                    continue;
                }
                places.insert(root, number);
                listing.templates.push(template(&skill));
                listing.skills.push(skill);
            }
            listing.known_resources.extend(catalog.resources().into_iter().map(convert::resource_link));
        }
        let is_served = |link: &ResourceLink| listing.skills.iter().any(|skill| skill.uri == link.uri);
        listing.known_resources.retain(is_served);
        let id = SourceId::Gate(SKILLS_SOURCE.into());
        Ok(Self { id, catalogs, places, listing: Arc::new(listing) })
    }

    fn find(&self, uri: &str) -> Option<Vec<EmbeddedResource>> {
        let place = self.listing.skills.iter().find(|skill| uri.starts_with(skill.root()))?.root();
        let read = self.catalogs[*self.places.get(place)?].read_resource(uri)?;
        read.contents.into_iter().map(convert::resource).collect()
    }
}

/// Returns the size of the files below a folder, without links. Stops above [`MAX_BYTES`].
fn size_below(folder: &Path, depth: usize) -> u64 {
    let mut size = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(about) if about.is_file() => size += about.len(),
            Ok(about) if about.is_dir() && depth > 0 => size += size_below(&entry.path(), depth - 1),
            _ => {}
        }
        if size > MAX_BYTES {
            break;
        }
    }
    size
}

fn template(skill: &Skill) -> UriTemplate {
    UriTemplate {
        uri_template: format!("{}{{+path}}", skill.root()),
        name: skill.name().to_owned(),
        title: None,
        description: Some(format!("Files of the skill '{}'.", skill.name())),
        mime_type: None,
    }
}

#[async_trait]
impl Source for SkillFolders {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        Ok(Arc::clone(&self.listing))
    }

    async fn call(&self, _: &Call, tool: &ToolEntry) -> Outcome {
        Err(Fault::not_found(format!("skills have no tool '{}'", quoted(&tool.id.name, 64))))
    }

    async fn list_resources(&self, _: &Call, _: &Arc<str>, _: Option<&str>) -> Result<ResourcePage, Fault> {
        Ok(ResourcePage { resources: self.listing.known_resources.clone(), next: None })
    }

    async fn read_resource(&self, _: &Call, _: &Arc<str>, uri: &str) -> Result<Vec<EmbeddedResource>, Fault> {
        let unknown = || Fault::not_found(format!("resource not found: '{}'", quoted(uri, 256)));
        self.find(uri).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_too_large_together_are_left_out() {
        let place = tempfile::tempdir().expect("a folder");
        let skill = |folder: &str, bytes: u64| {
            let path = place.path().join(folder).join("tidy");
            fs::create_dir_all(&path).expect("a folder");
            let text = "---\nname: tidy\ndescription: Tidies up.\n---\nTidy.\n";
            fs::write(path.join("SKILL.md"), text).expect("a skill");
            // Holes take no room on the disk.
            for part in 0..bytes.div_ceil(8 << 20) {
                let file = fs::File::create(path.join(format!("{part}.bin"))).expect("a file");
                file.set_len(8 << 20).expect("a size");
            }
            place.path().join(folder)
        };
        let folders = [skill("large", 80 << 20), skill("small", 0)];
        let loaded = SkillFolders::load(&folders).expect("folders");
        let uris: Vec<&str> = loaded.listing.skills.iter().map(|skill| &*skill.uri).collect();
        assert_eq!(uris.len(), 1, "{uris:?}");
        assert!(loaded.find(uris[0]).is_some(), "the small one is served");
        assert!(SkillFolders::load(&[place.path().join("none")]).is_err());
    }
}
