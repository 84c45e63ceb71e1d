//! Definitions that wait for a review, and their approval.

use std::collections::HashMap;

use gatehouse_core::{
    definition::{DefinitionKind, ReviewedDefinition},
    ports::tool_index::PendingChange,
    source::Listing,
    tool_policy::ToolPromise,
};
use serde_json::Value;

use super::{ServerRecord, ToolRecord, of_server};
use crate::sql::Result;

/// A quarantined definition that is not a tool.
pub(super) struct QuarantinedDefinition {
    definition: ReviewedDefinition,
    before: Option<String>,
}

impl ServerRecord {
    /// Returns the changes to review.
    pub(in crate::tools) fn pending_changes(&self, server: &str) -> Result<Vec<PendingChange>> {
        let change = |definition: ReviewedDefinition, before| PendingChange {
            server: server.to_owned(),
            kind: definition.kind,
            name: definition.name,
            digest: definition.digest,
            before,
            now: definition.text,
            held_back: true,
            counts_as: None,
            says: None,
            outdated_effect: None,
        };
        let held = self.quarantined_definitions().into_iter();
        let mut changes: Vec<_> = held.map(|held| change(held.definition, held.before)).collect();
        let reviewed = self.reviews();
        for tool in &self.tools {
            let approved = reviewed.get(&tool.key()).copied();
            let held_back = self.is_held(tool, approved);
            let spec = tool.spec()?;
            let accepted = self.accepted_spec(tool)?;
            let (counts_as, says) = (ToolPromise::from_spec(&accepted), ToolPromise::from_spec(&spec));
            let differs = counts_as != says && !self.is_declared(tool);
            let promise = self.promises.get(&*tool.name);
            let outdated_effect = promise.and_then(|promise| promise.outdated_effect(&tool.digest));
            if !held_back && !differs && outdated_effect.is_none() {
                continue;
            }
            let before = if held_back {
                approved.map(|approved| approved.text.clone())
            } else {
                Some(ReviewedDefinition::from_tool(&accepted).text)
            };
            changes.push(PendingChange {
                digest: tool.digest.clone(),
                held_back,
                counts_as: differs.then_some(counts_as),
                says: Some(says),
                outdated_effect,
                ..change(ReviewedDefinition::from_tool(&spec), before)
            });
        }
        Ok(changes)
    }

    /// Approves a change. Returns false if no such change is pending.
    pub(in crate::tools) fn approve(&mut self, server: &str, label: &str, digest: &str) -> Result<bool> {
        let mut pending = self.pending_changes(server)?.into_iter();
        let named = pending.find(|held| held.digest == digest && held.label() == label);
        let Some(PendingChange { kind, name, now, held_back, says, .. }) = named else { return Ok(false) };
        // The review did not show what a person declared for this definition, so it stays.
        let declared = self.promises.get(&name).and_then(|promise| promise.declared_for.as_deref());
        if let Some(says) = says.filter(|_| declared != Some(digest)) {
            self.promises.insert(name.clone(), of_server(says));
        }
        if held_back {
            self.reviewed.retain(|reviewed| (reviewed.kind, &reviewed.name) != (kind, &name));
            self.reviewed.push(ReviewedDefinition { kind, name, text: now, digest: digest.to_owned() });
        }
        Ok(true)
    }

    pub(super) fn reviews(&self) -> HashMap<(DefinitionKind, &str), &ReviewedDefinition> {
        self.reviewed.iter().map(|reviewed| ((reviewed.kind, &*reviewed.name), reviewed)).collect()
    }

    pub(super) fn is_held(&self, tool: &ToolRecord, approved: Option<&ReviewedDefinition>) -> bool {
        approved.map_or(self.quarantine, |approved| approved.digest != tool.digest)
    }

    /// Returns the quarantined definitions that are not tools.
    pub(super) fn quarantined_definitions(&self) -> Vec<QuarantinedDefinition> {
        if !self.quarantine {
            return Vec::new();
        }
        let reviewed = self.reviews();
        let held = self.about.non_tool_definitions().into_iter().filter_map(|definition| {
            let approved = reviewed.get(&(definition.kind, &*definition.name));
            let is_approved = approved.is_some_and(|approved| approved.digest == definition.digest);
            let before = approved.map(|approved| approved.text.clone());
            (!is_approved).then_some(QuarantinedDefinition { definition, before })
        });
        held.collect()
    }
}

impl ToolRecord {
    pub(super) fn key(&self) -> (DefinitionKind, &str) {
        (DefinitionKind::Tool, &self.name)
    }
}

/// Removes quarantined definitions, and replaces quarantined instructions with the approved ones.
pub(super) fn remove_quarantined(listing: &mut Listing, held: &[QuarantinedDefinition]) {
    for QuarantinedDefinition { definition, before } in held {
        let name = &definition.name;
        match definition.kind {
            DefinitionKind::Tool => {}
            DefinitionKind::Prompt => listing.prompts.retain(|prompt| *prompt.name != **name),
            DefinitionKind::Template => {
                listing.templates.retain(|template| template.uri_template != *name);
            }
            DefinitionKind::Instructions => {
                let before: Option<Value> = before.as_ref().and_then(|text| serde_json::from_str(text).ok());
                let text = before.as_ref().and_then(|before| before["instructions"].as_str());
                listing.summary = text.unwrap_or_default().to_owned();
            }
        }
    }
}
