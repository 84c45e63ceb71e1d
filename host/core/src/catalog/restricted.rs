//! Catalogs of callers that access rules limit.
//!
//! Everything that a caller can reach goes through its catalog: lists, calls of tools and of other tools in them,
//! searches, prompts, resources and completions. So this is the one place that hides what rules do not allow.

use std::sync::Arc;

use super::Catalog;
use crate::{
    SourceId,
    access::{CallerAccess, PresetAccess},
};

impl Catalog {
    /// Returns this catalog without everything that the caller may not use. It has the same generation and entries.
    ///
    /// Steps of workflows remain, because they name no tools, and without them a call could skip a step.
    #[must_use]
    pub fn restricted(&self, access: &CallerAccess) -> Self {
        let access = Arc::new(access.in_preset(&self.preset));
        let entries: Vec<_> =
            self.entries.iter().filter(|entry| access.allows_entry(entry)).cloned().collect();
        let resources_and_prompts = self
            .resources_and_prompts
            .restricted(|source| access.allows_prompts(source), |source| access.allows_resources(source));
        let may_know = |source: &SourceId| {
            let in_lists = access.allows_prompts(source) || access.allows_resources(source);
            let has_tools = || entries.iter().any(|entry| entry.id.source == *source);
            in_lists || access.may_allow_tools_of(source.name(), &[]) || has_tools()
        };
        let problems = self.problems.iter().filter(|(source, _)| may_know(source)).cloned().collect();
        let pending = self.pending.iter().filter(|(source, _)| may_know(source)).cloned().collect();
        Self {
            preset: Arc::clone(&self.preset),
            generation: self.generation,
            structured: self.structured,
            surface: self.surface,
            has_other_servers: self.has_other_servers,
            list_ttl: self.list_ttl,
            problems,
            resources_and_prompts,
            server_tools: self.server_tools.restricted(&access),
            workflow: self.workflow.clone(),
            pending,
            // For operators.
            unmatched: Vec::new(),
            has_oversized_servers: self.has_oversized_servers,
            crowded: Vec::new(),
            project: self.project.clone(),
            entries,
            access: Some(access),
        }
    }

    /// Returns this catalog without the tools that only interfaces may call, for a client that shows none.
    #[must_use]
    pub fn without_app_tools(&self) -> Self {
        let mut catalog = self.clone();
        catalog.entries.retain(|entry| entry.spec.is_for_models());
        catalog
    }

    /// Returns the access that limits the caller of this catalog. `None` if nothing does.
    pub fn access(&self) -> Option<&PresetAccess> {
        self.access.as_deref()
    }
}
