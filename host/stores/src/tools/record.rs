//! The record of one server: its last listing, and the definitions and promises of it that were accepted.

mod review;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock, Mutex, Weak},
};

use gatehouse_core::{
    Fault, ToolSpec,
    definition::ReviewedDefinition,
    hash::sha256_hex,
    json, lock,
    ports::{
        servers::RefreshReport,
        tool_index::{CATEGORIES, ChangePolicy, DeclaredEffect, IndexedListing, KnownListing, KnownTool},
    },
    source::{Listing, MAX_LISTING_BYTES, ServerList},
    tool_policy::{AcceptedPromise, ToolPromise},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::category::classify;
use crate::sql::{Result, StoreError};

const MAX_PROMISES: usize = 4_096;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ServerRecord {
    /// The last listing, without its tools.
    about: Listing,
    tools: Vec<ToolRecord>,
    /// When the tools last changed, in Unix milliseconds. `None` if they never did.
    last_change: Option<u64>,
    quarantine: bool,
    /// Promises of tools when they were accepted, which outlive a temporary absence.
    promises: BTreeMap<String, AcceptedPromise>,
    /// Reviewed definitions, if changes are quarantined. They outlive a temporary absence, so that a definition cannot
    /// return changed.
    reviewed: Vec<ReviewedDefinition>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ToolRecord {
    name: Arc<str>,
    digest: String,
    category: String,
    last_change: Option<u64>,
    /// JSON. Most reads need only the definitions that changed.
    spec: String,
}

/// The changes of a new listing.
#[derive(Debug, Default)]
pub(super) struct ListingChanges {
    pub(super) report: RefreshReport,
    /// Names and digests of the tools to embed.
    pub(super) embedded: Vec<(Arc<str>, String)>,
    pub(super) removed: Vec<Arc<str>>,
}

impl ServerRecord {
    /// Returns the record after a listing. `is_lost` is true if a record from before may be lost. `force` stores
    /// unchanged tools again.
    pub(super) fn after(
        before: Option<Self>,
        listed: &IndexedListing,
        is_lost: bool,
        now: u64,
        force: bool,
    ) -> Result<(Self, ListingChanges)> {
        let is_new = before.is_none();
        let mut before = before.unwrap_or_default();
        let reviewed = match listed.on_change {
            ChangePolicy::Warn => Vec::new(),
            ChangePolicy::Quarantine if before.quarantine => std::mem::take(&mut before.reviewed),
            // The server may have been reviewed before the loss, so accepting its listing could hide a change.
            ChangePolicy::Quarantine if is_new && is_lost => Vec::new(),
            ChangePolicy::Quarantine if is_new => definitions(&listed.listing, &listed.listing.tools),
            // Changes were served until now, so the stored definitions are those last served.
            ChangePolicy::Quarantine => definitions(&before.about, &before.specs()?),
        };
        let mut about = Listing { tools: Vec::new(), ..Listing::clone(&listed.listing) };
        if !about.incomplete.is_empty() {
            about.keep_earlier(before.about);
        }
        let mut promises = before.promises;
        let mut changes = ListingChanges::default();
        // Each with its earlier place.
        let mut tools = Vec::with_capacity(listed.listing.tools.len());
        let places = before.tools.into_iter().enumerate();
        let mut earlier: HashMap<_, _> =
            places.map(|(place, tool)| (Arc::clone(&tool.name), (place, tool))).collect();
        for tool in &listed.listing.tools {
            // Beyond the limit, new tools promise nothing. Deleting older promises would let a server change them.
            if promises.len() < MAX_PROMISES && !promises.contains_key(&*tool.name) {
                promises.insert(tool.name.to_string(), of_server(ToolPromise::from_spec(tool)));
            }
            let digest = ReviewedDefinition::from_tool(tool).digest;
            let last_change = match earlier.remove(&tool.name) {
                Some((place, old)) if old.digest == digest => {
                    changes.report.unchanged += 1;
                    if !force {
                        tools.push((place, old));
                        continue;
                    }
                    old.last_change
                }
                Some(_) => {
                    changes.report.updated += 1;
                    Some(now)
                }
                None => {
                    changes.report.added += 1;
                    None
                }
            };
            changes.report.embeddings += 1;
            changes.embedded.push((Arc::clone(&tool.name), digest.clone()));
            let spec = checked_json::<ToolSpec>(&**tool)?;
            let (name, category) = (Arc::clone(&tool.name), classify(&listed.tags, tool).to_owned());
            tools.push((usize::MAX, ToolRecord { name, digest, category, last_change, spec }));
        }
        let mut remaining_bytes = kept_tools_limit(&listed.listing);
        let mut earlier: Vec<_> = earlier.into_values().collect();
        earlier.sort_by_key(|(place, _)| *place);
        for (place, old) in earlier {
            if let Some(rest) = remaining_bytes.checked_sub(old.spec.len()) {
                remaining_bytes = rest;
                changes.report.unchanged += 1;
                tools.push((place, old));
            } else {
                changes.report.removed += 1;
                changes.removed.push(old.name);
            }
        }
        let report = &changes.report;
        if report.added + report.updated + report.removed == 0 && !force {
            // Another order alone is no change, of which clients would be told.
            tools.sort_by_key(|(place, _)| *place);
        }
        let tools = tools.into_iter().map(|(_, tool)| tool).collect();
        let changed = report.updated + report.removed > 0 || (!is_new && report.added > 0);
        let last_change = if changed { Some(now) } else { before.last_change };
        let quarantine = listed.on_change == ChangePolicy::Quarantine;
        Ok((Self { about, tools, last_change, quarantine, promises, reviewed }, changes))
    }

    /// Returns the listing as it is served. `is_lost` is true if reviews were lost.
    pub(super) fn known(&self, is_lost: bool) -> Result<KnownListing> {
        let mut listing = self.about.clone();
        let held = self.quarantined_definitions();
        review::remove_quarantined(&mut listing, &held);
        let reviewed = self.reviews();
        let mut quarantined = held.len();
        let mut tools = Vec::with_capacity(self.tools.len());
        for tool in &self.tools {
            let approved = reviewed.get(&tool.key());
            let is_held = self.is_held(tool, approved.copied());
            let reason = match (approved.is_none(), is_lost) {
                (false, _) => "its definition differs from the approved one",
                (true, false) => "it was not in the server's first listing and has not been approved",
                (true, true) => "the record of approvals is lost, and it has not been approved since",
            };
            quarantined += usize::from(is_held);
            tools.push(KnownTool {
                name: Arc::clone(&tool.name),
                digest: tool.digest.clone(),
                category: CATEGORIES.into_iter().find(|name| *name == tool.category).unwrap_or("other"),
                last_change: tool.last_change,
                quarantine_reason: is_held.then(|| reason.to_owned()),
                is_declared: self.is_declared(tool),
            });
            listing.tools.push(self.accepted_spec(tool)?);
        }
        let (listing, tools) = (Arc::new(listing), Arc::new(tools));
        Ok(KnownListing { listing, last_change: self.last_change, tools, quarantined })
    }

    /// Declares effects of tools. Returns false, without a change, if a tool no longer has the definition for which its
    /// effect is declared.
    pub(super) fn declare_effects(&mut self, declared: &[DeclaredEffect]) -> Result<bool> {
        let tools: HashMap<&str, &ToolRecord> = self.tools.iter().map(|tool| (&*tool.name, tool)).collect();
        let mut promises = Vec::new();
        for DeclaredEffect { tool, digest, effect } in declared {
            let named = tools.get(&**tool).filter(|stored| stored.digest == *digest);
            let Some(stored) = named else { return Ok(false) };
            promises.push((tool.clone(), AcceptedPromise::declare(*effect, &stored.spec()?, digest)));
        }
        self.promises.extend(promises);
        Ok(true)
    }

    /// Takes back what a person declared. The tools promise nothing then, whatever the server says.
    pub(super) fn drop_declared_effects(&mut self) {
        for promise in self.promises.values_mut().filter(|promise| promise.declared_for.is_some()) {
            *promise = of_server(ToolPromise::NONE);
        }
    }

    fn specs(&self) -> Result<Vec<Arc<ToolSpec>>> {
        self.tools.iter().map(|tool| tool.spec().map(Arc::new)).collect()
    }

    /// Returns true if a person declared the effect of the tool's present definition.
    fn is_declared(&self, tool: &ToolRecord) -> bool {
        let promise = self.promises.get(&*tool.name);
        promise.and_then(|promise| promise.declared_for.as_ref()) == Some(&tool.digest)
    }

    /// Returns a tool whose promises are limited to the accepted ones.
    fn accepted_spec(&self, tool: &ToolRecord) -> Result<Arc<ToolSpec>> {
        let accepted = self.promises.get(&*tool.name);
        let key = sha256_hex(format!("{accepted:?}\0{}", tool.spec));
        if let Some(known) = lock(&SPECS_IN_USE).get(&key).and_then(Weak::upgrade) {
            return Ok(known);
        }
        let mut spec = tool.spec()?;
        match accepted {
            Some(accepted) => accepted.apply(&mut spec, &tool.digest),
            None => ToolPromise::NONE.enforce(&mut spec),
        }
        let spec = Arc::new(spec);
        let mut specs = lock(&SPECS_IN_USE);
        if specs.len() == specs.capacity() {
            specs.retain(|_, spec| spec.strong_count() > 0);
        }
        specs.insert(key, Arc::downgrade(&spec));
        Ok(spec)
    }
}

/// Definitions in use, by a digest of their texts. Readings of a record share them, because a schema takes many times its
/// text in memory.
static SPECS_IN_USE: LazyLock<Mutex<HashMap<String, Weak<ToolSpec>>>> = LazyLock::new(Mutex::default);

impl ToolRecord {
    fn spec(&self) -> Result<ToolSpec> {
        serde_json::from_str(&self.spec).map_err(StoreError::invalid)
    }
}

/// Returns a value of a server as JSON that can be read back. Its schemas can have what serde_json writes and does not
/// read, such as a false number of `arbitrary_precision`, and a record that cannot be read looks damaged.
pub(super) fn checked_json<T: Serialize + DeserializeOwned>(value: &T) -> Result<String> {
    let text = serde_json::to_string(value).map_err(StoreError::invalid)?;
    match serde_json::from_str::<T>(&text) {
        Ok(_) => Ok(text),
        Err(error) => {
            Err(Fault::invalid(format!("a definition of the server cannot be stored: {error}")).into())
        }
    }
}

fn of_server(promise: ToolPromise) -> AcceptedPromise {
    AcceptedPromise { promise, declared_for: None }
}

fn definitions(about: &Listing, tools: &[Arc<ToolSpec>]) -> Vec<ReviewedDefinition> {
    let tools = tools.iter().map(|tool| ReviewedDefinition::from_tool(tool));
    about.non_tool_definitions().into_iter().chain(tools).collect()
}

/// Returns how many bytes of earlier tools stay: none, unless this listing has only a part of the tools.
fn kept_tools_limit(listing: &Listing) -> usize {
    if !listing.incomplete.contains(&ServerList::Tools) {
        return 0;
    }
    let listed: usize = listing.tools.iter().map(|tool| json::encoded_len(&**tool)).sum();
    MAX_LISTING_BYTES.saturating_sub(listed)
}
