//! Resources and prompts of a preset, each with the source that provides it.

use std::sync::{Arc, OnceLock};

use crate::{
    ExposedName, Fault, Listing, Source, SourceId, ToolSpec,
    catalog::{CatalogError, SourceListing},
    names,
    prompt::Prompt,
    resource::UriTemplate,
    search::tools::ToolSegment,
    skill::Skill,
};

#[derive(Clone)]
pub struct ResourceSource {
    pub source: Arc<dyn Source>,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
    pub templates: Vec<UriTemplate>,
    /// The listing, with the resources that the source had at that time.
    pub listing: Arc<Listing>,
}

#[derive(Clone)]
pub struct PromptEntry {
    pub name: ExposedName,
    pub prompt: Prompt,
    pub source: Arc<dyn Source>,
    pub completes: bool,
    /// The preset's parameters with defaults, as JSON text.
    pub params: Arc<str>,
}

#[derive(Default)]
pub struct ResourcesAndPrompts {
    resources: Vec<ResourceSource>,
    /// Sources that clients do not see but may read, because tool replies link to them.
    linked: Vec<ResourceSource>,
    /// Sorted by name.
    prompts: Vec<PromptEntry>,
    skill_index: OnceLock<ToolSegment>,
}

impl Clone for ResourcesAndPrompts {
    /// The copy makes its own index of skills.
    fn clone(&self) -> Self {
        self.restricted(|_| true, |_| true)
    }
}

/// Starts of the addresses of servers' resources, which no gate provides.
const SERVER_ADDRESSES: [&str; 3] = ["gatehouse://server/", "ui://server/", "skill://server/"];

/// Returns the templates of a source, of a gate without those that match addresses of servers.
fn own_templates(id: &SourceId, templates: &[UriTemplate]) -> Vec<UriTemplate> {
    let is_own = |template: &&UriTemplate| {
        let prefix = template.prefix();
        let overlaps = |start: &str| prefix.starts_with(start) || start.starts_with(prefix);
        let is_taken = matches!(id, SourceId::Gate(_)) && SERVER_ADDRESSES.into_iter().any(overlaps);
        if is_taken {
            let template = names::quoted(&template.uri_template, 200);
            tracing::warn!("leaving out the template '{template}' of {id}: it matches addresses of servers");
        }
        !is_taken
    };
    templates.iter().filter(is_own).cloned().collect()
}

impl ResourcesAndPrompts {
    /// Fails if two sources have overlapping templates or prompts with the same name.
    pub(crate) fn new(listings: &[SourceListing]) -> Result<Self, CatalogError> {
        let mut resources_and_prompts = Self::default();
        for listed in listings {
            let listing = &listed.listing;
            let id = listed.source.id();
            let params = listed.params_text();
            // Without a template nothing could be read.
            let templates = own_templates(id, &listing.templates);
            if listing.resources && !templates.is_empty() {
                resources_and_prompts.check_addresses(id, &templates)?;
                let source = Arc::clone(&listed.source);
                let (params, listing) = (Arc::clone(&params), Arc::clone(listing));
                resources_and_prompts.resources.push(ResourceSource { source, params, templates, listing });
            }
            for prompt in &listing.prompts {
                let bad = |reason| CatalogError::BadName { source_id: id.to_string(), reason };
                let name = id.exposed_name(&prompt.name).map_err(bad)?;
                let (source, prompt) = (Arc::clone(&listed.source), prompt.clone());
                let (params, completes) = (Arc::clone(&params), listing.completes);
                resources_and_prompts.prompts.push(PromptEntry { name, prompt, source, completes, params });
            }
        }
        resources_and_prompts.prompts.sort_by(|a, b| a.name.cmp(&b.name));
        match resources_and_prompts.prompts.windows(2).find(|pair| pair[0].name == pair[1].name) {
            Some(pair) => Err(CatalogError::PromptCollision {
                name: pair[0].name.to_string(),
                first: pair[0].source.id().to_string(),
                second: pair[1].source.id().to_string(),
            }),
            None => Ok(resources_and_prompts),
        }
    }

    fn check_addresses(&self, id: &SourceId, templates: &[UriTemplate]) -> Result<(), CatalogError> {
        for entry in &self.resources {
            for template in &entry.templates {
                if let Some(other) = templates.iter().find(|other| template.overlaps(other)) {
                    return Err(CatalogError::AddressCollision {
                        first: format!("{} has '{}'", entry.source.id(), template.uri_template),
                        second: format!("{id} has '{}'", other.uri_template),
                    });
                }
            }
        }
        Ok(())
    }

    /// Makes this source's resources readable if they are not listed, and lists its skills. Does nothing without [resource
    /// families](Source::resource_families).
    pub fn add_linked(&mut self, source: Arc<dyn Source>, skills: Vec<Skill>) {
        let templates = source.resource_families();
        if !templates.is_empty() && self.resources.iter().all(|entry| entry.source.id() != source.id()) {
            let params = "{}".into();
            let listing = Arc::new(Listing { skills, ..Listing::default() });
            self.linked.push(ResourceSource { source, params, templates, listing });
            self.skill_index.take();
        }
    }

    /// Returns the prompts and resources of the sources that these functions accept.
    pub(crate) fn restricted(
        &self,
        prompts: impl Fn(&SourceId) -> bool,
        resources: impl Fn(&SourceId) -> bool,
    ) -> Self {
        let readable = |sources: &[ResourceSource]| -> Vec<ResourceSource> {
            sources.iter().filter(|entry| resources(entry.source.id())).cloned().collect()
        };
        let prompts = self.prompts.iter().filter(|entry| prompts(entry.source.id())).cloned().collect();
        let (resources, linked) = (readable(&self.resources), readable(&self.linked));
        Self { resources, linked, prompts, skill_index: OnceLock::new() }
    }

    /// Returns the sources whose resources can be read, listed or not.
    fn readable_sources(&self) -> impl Iterator<Item = &ResourceSource> {
        self.resources.iter().chain(&self.linked)
    }

    pub fn can_read_from(&self, source: &SourceId) -> bool {
        self.readable_sources().any(|entry| entry.source.id() == source)
    }

    pub fn has_resources(&self) -> bool {
        self.readable_sources().next().is_some()
    }

    pub fn resource_sources(&self) -> &[ResourceSource] {
        &self.resources
    }

    pub fn resource_source(&self, uri: &str) -> Option<&ResourceSource> {
        let answers = |entry: &&ResourceSource| entry.templates.iter().any(|template| template.matches(uri));
        self.readable_sources().find(answers)
    }

    /// Returns the source and exposed URI of a resource that an interface reads by its server's own URI. `None` if that
    /// could be several servers.
    pub fn app_resource(&self, uri: &str) -> Option<(&ResourceSource, String)> {
        let mut candidates = Vec::new();
        for entry in &self.resources {
            let has_apps = entry.templates.iter().any(|template| template.uri_template.starts_with("ui://"));
            if let (true, Some(exposed)) = (has_apps, entry.source.exposed_uri(uri)) {
                candidates.push((entry, exposed));
            }
        }
        let is_declared = |(entry, exposed): &&(&ResourceSource, String)| {
            let is_listed = || entry.listing.known_resources.iter().any(|link| link.uri == *exposed);
            // The first template of a server matches all URIs but those of interfaces, which are listed or in a tool.
            let templates = entry.templates.iter().skip(1);
            is_listed()
                || entry.listing.is_app_address(exposed)
                || templates
                    .filter(|template| !template.uri_template.starts_with("ui://"))
                    .any(|template| template.matches(exposed))
        };
        let mut declared = candidates.iter().filter(is_declared);
        let (first, second) = (declared.next(), declared.next());
        match (candidates.as_slice(), first, second) {
            (_, Some(candidate), None) | ([candidate], None, None) => Some(candidate.clone()),
            _ => None,
        }
    }

    /// Returns true if resources of an MCP server can be read.
    pub fn has_servers(&self) -> bool {
        self.readable_sources().any(|entry| matches!(entry.source.id(), SourceId::Server(_)))
    }

    /// Returns the skills of all sources, in preset order.
    pub fn skills(&self) -> impl Iterator<Item = &Skill> {
        self.skills_by_source().map(|(_, skill)| skill)
    }

    /// Returns the skills of all sources, each with its source, in preset order.
    pub fn skills_by_source(&self) -> impl Iterator<Item = (&SourceId, &Skill)> {
        self.readable_sources()
            .flat_map(|entry| entry.listing.skills.iter().map(|skill| (entry.source.id(), skill)))
    }

    /// Returns the search index of the skills, in the order of [`skills_by_source`](Self::skills_by_source). It is made on
    /// first use.
    pub fn skill_index(&self) -> &ToolSegment {
        self.skill_index.get_or_init(|| {
            let spec = |skill: &Skill| Arc::new(ToolSpec::new(skill.name(), skill.description()));
            let specs: Vec<Arc<ToolSpec>> = self.skills().map(spec).collect();
            ToolSegment::new(&SourceId::Gate("skills".into()), &specs)
        })
    }

    pub fn prompts(&self) -> &[PromptEntry] {
        &self.prompts
    }

    pub fn prompt(&self, name: &str) -> Result<&PromptEntry, Fault> {
        self.prompts.iter().find(|entry| entry.name.as_str() == name).ok_or_else(|| {
            let suggestion = names::did_you_mean(name, self.prompts.iter().map(|entry| entry.name.as_str()));
            let display_name = names::quoted(name, 64);
            Fault::invalid(format!("Unknown prompt: '{display_name}'.{suggestion}"))
        })
    }
}
