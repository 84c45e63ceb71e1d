//! Skills from folders on this machine, as a source of a preset.

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

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
    /// Reads all files of the folders. Blocks. A skill that cannot be used is left out, with a warning.
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn load(folders: &[PathBuf]) -> Result<Self, SkillCatalogError> {
        let catalogs: Vec<SkillCatalog> =
            folders.iter().map(SkillCatalog::from_dir).collect::<Result<_, _>>()?;
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
