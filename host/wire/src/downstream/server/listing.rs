//! Listing a server when it connects or reports a change. The listing is stored in the index and read from there.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Weak},
};

use gatehouse_core::{
    Fault, SourceId, check_threads, lock,
    names::quoted,
    outcome::ResourceLink,
    ports::{
        servers::{RefreshReport, ServerListing},
        tool_index::{IndexedListing, KnownListing},
    },
    source::{Listing, MAX_TOOLS},
    tool::{ExposedName, MAX_NAME_CHARS},
};

use super::{DownstreamServer, InFlightGuard, ServerContext};
use crate::downstream::connection::{CallFailure, ServerConnection, fault_as_clause};

const MAX_REMEMBERED_BYTES: usize = 1 << 20;

pub(super) enum ListFailure {
    Server(String),
    /// The index failed; the server works.
    Index(Fault),
}

impl ListFailure {
    pub(super) fn in_one_line(self) -> String {
        match self {
            Self::Server(why) => why,
            Self::Index(fault) => fault.in_one_line(),
        }
    }
}

impl From<String> for ListFailure {
    fn from(why: String) -> Self {
        Self::Server(why)
    }
}

impl DownstreamServer {
    /// Lists the server and stores the result. Invalid items are left out and reported.
    pub(super) async fn list_and_store(
        &self,
        connection: &Arc<dyn ServerConnection>,
        force: bool,
    ) -> Result<RefreshReport, ListFailure> {
        let _in_use = InFlightGuard::begin(self);
        let _listing = self.listing_lock.lock().await;
        let limit = self.connection_timeout();
        let listed = tokio::time::timeout(limit, connection.list()).await;
        let listed =
            listed.map_err(|_| format!("it did not list its tools within {} s", limit.as_secs_f64()))?;
        let mut listing = listed.map_err(|failure| describe_failure(&failure))?;
        let (source, source_id, this) = (self.id.clone(), self.id.clone(), Weak::clone(&self.this));
        let checked = check_threads::run(&self.id, move |_| {
            listing.clean();
            drop_invalid_tools(&source_id, &mut listing);
            if let Some(this) = this.upgrade() {
                this.expose_resources_and_prompts(&mut listing);
            }
            listing
        });
        let mut listing = checked.await.map_err(|fault| fault.in_one_line())?;
        let omitted = &mut listing.omitted;
        for why in &mut omitted.reasons {
            *why = self.redactor.redact_text(std::mem::take(why));
            tracing::warn!(%source, "leaving out an item of its listing: {why}");
        }
        let omitted = (!omitted.is_empty()).then(|| (self.definition.name.to_string(), omitted.clone()));
        let before = self.shared.index.known(&self.definition.name).await.ok().flatten();
        let indexed = IndexedListing {
            server: Arc::clone(&self.definition.name),
            tags: self.definition.tags.clone(),
            listing: Arc::new(listing),
            on_change: self.definition.on_change,
        };
        if lock(&self.inner).closed {
            return Err(ListFailure::Server("it was removed or redefined".into()));
        }
        let mut report = self.shared.index.put(indexed, force).await.map_err(ListFailure::Index)?;
        report.omitted.extend(omitted);
        let tools_changed = report.added + report.updated + report.removed > 0;
        if tools_changed {
            tracing::info!(%source, added = report.added, updated = report.updated, removed = report.removed,
                unchanged = report.unchanged, "tools listed");
        }
        // Only the index knows which tools are quarantined, and whether another host stored the change first.
        let now = self.shared.index.known(&self.definition.name).await.map_err(ListFailure::Index)?;
        let rest = |known: &Option<KnownListing>| known.as_ref().map(|known| without_tools(&known.listing));
        let quarantined = |known: &Option<KnownListing>| known.as_ref().map_or(0, |known| known.quarantined);
        if tools_changed || rest(&before) != rest(&now) {
            self.shared.changes.send_modify(|changes| *changes += 1);
        }
        if before.is_some() && rest(&before) != rest(&now) {
            tracing::info!(%source, "prompts, templates or instructions changed");
        }
        if quarantined(&now) > 0 && (tools_changed || quarantined(&before) != quarantined(&now)) {
            let (name, quarantined) = (&self.definition.name, quarantined(&now));
            tracing::warn!(%source, quarantined, "tools are quarantined until `gatehouse servers review {name}` \
            approves them");
        }
        self.known().await.map_err(ListFailure::Index)?;
        Ok(report)
    }

    /// Lists the server again. Returns `false` if that failed and may succeed later.
    pub(super) async fn list_again(&self) -> bool {
        let connection = {
            let mut inner = lock(&self.inner);
            inner.stale = inner.connection.is_none();
            inner.connection.clone()
        };
        if let Some(connection) = connection
            && let Err(why) = self.list_and_store(&connection, false).await
        {
            let why = self.redactor.redact_text(why.in_one_line());
            tracing::warn!(source = %self.id, "cannot list the tools again: {why}");
            return false;
        }
        true
    }

    pub(in crate::downstream) async fn refresh(&self, force: bool) -> Result<RefreshReport, Fault> {
        let before = self.connected();
        let connection = self.connection().await?;
        // A new connection has just listed its tools.
        if before.is_none() && !force {
            return Ok(lock(&self.inner).first_report.clone());
        }
        self.list_and_store(&connection, force)
            .await
            .map_err(|failure| self.listing_fault(&connection, failure))
    }

    /// Converts the failure. Closes the connection if the server failed.
    pub(super) fn listing_fault(
        &self,
        connection: &Arc<dyn ServerConnection>,
        failure: ListFailure,
    ) -> Fault {
        match failure {
            ListFailure::Server(why) => self.fail_connection(connection, &why),
            ListFailure::Index(fault) => fault,
        }
    }

    /// Returns the stored listing without starting the server.
    pub(in crate::downstream) async fn known(&self) -> Result<Option<ServerListing>, Fault> {
        let known = self.shared.index.known(&self.definition.name).await?;
        lock(&self.inner).last_change = known.as_ref().and_then(|known| known.last_change);
        let Some(source) = self.this.upgrade() else { return Ok(None) };
        Ok(known.map(|known| {
            let quarantined = known
                .tools
                .iter()
                .filter_map(|tool| Some((tool.name.to_string(), tool.quarantine_reason.clone()?)));
            let quarantined = Arc::new(quarantined.collect());
            let listing = self.described.listing(&self.id, &self.definition.tools, known.listing);
            ServerListing { source: source as _, quarantined, listing }
        }))
    }

    /// Returns the stored listing, or lists the server if there is none.
    pub(in crate::downstream) async fn listing(&self) -> Result<ServerListing, Fault> {
        if let Some(known) = self.known().await? {
            return Ok(known);
        }
        // A call may follow, so the connection stays open after the listing.
        lock(&self.inner).call_may_follow = true;
        self.ensure_listed().await?;
        self.known()
            .await?
            .ok_or_else(|| Fault::internal(format!("the listing of {} was not stored", self.id)))
    }

    /// Maps the listing to what clients see. Removes invalid prompts and templates.
    pub(super) fn expose_resources_and_prompts(&self, listing: &mut Listing) {
        let omitted = &mut listing.omitted;
        let bare = Listing { params_schema: listing.params_schema.clone(), ..Listing::default() };
        let mut names = UniqueNames::new(&self.id);
        listing.prompts.retain(|prompt| {
            let checked = names.add("prompt", &prompt.name).and_then(|()| {
                let one = Listing { prompts: vec![prompt.clone()], ..bare.clone() };
                one.check_server().map_err(|why| why.to_string())
            });
            checked.map_err(|why| omitted.add(1, why)).is_ok()
        });
        let mut sound =
            |one: Listing| one.check_server().map_err(|why| omitted.add(1, why.to_string())).is_ok();
        let templates = std::mem::take(&mut listing.templates);
        if listing.resources {
            let all = templates.into_iter().map(|template| self.uris.template(template));
            listing.templates = vec![self.uris.family(&self.definition.name)];
            listing
                .templates
                .extend(all.filter(|one| sound(Listing { templates: vec![one.clone()], ..bare.clone() })));
        }
        let mut left = MAX_REMEMBERED_BYTES;
        let known = std::mem::take(&mut listing.known_resources);
        let known = known.into_iter().filter_map(|link| self.expose_link(link)).take_while(|link| {
            let texts = [&link.title, &link.description, &link.mime_type].into_iter().flatten();
            let bytes = link.uri.len() + link.name.len() + texts.map(String::len).sum::<usize>();
            left.checked_sub(bytes).map(|rest| left = rest).is_some()
        });
        listing.known_resources = known.collect();
    }

    pub(super) fn expose_link(&self, link: ResourceLink) -> Option<ResourceLink> {
        let uri = self.uris.to_exposed(&link.uri)?;
        Some(ResourceLink { uri, ..link })
    }
}

impl ServerContext {
    /// Records the index generation that clients are shown first. Call this before reading the index, so that no change
    /// is missed.
    pub(super) async fn record_shown_generation(&self) -> Result<(), Fault> {
        if lock(&self.shown_generation).is_none() {
            let generation = self.index.generation().await?;
            lock(&self.shown_generation).get_or_insert(generation);
        }
        Ok(())
    }

    pub(in crate::downstream) async fn check_for_changes(&self) -> Result<(), Fault> {
        let Some(shown) = *lock(&self.shown_generation) else { return Ok(()) };
        let generation = self.index.generation().await?;
        if generation != shown {
            *lock(&self.shown_generation) = Some(generation);
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }
}

fn without_tools(listing: &Listing) -> Listing {
    Listing { tools: Vec::new(), ..listing.clone() }
}

fn describe_failure(failure: &CallFailure) -> String {
    match failure {
        CallFailure::Transport(why) | CallFailure::Unreadable(why) => why.clone(),
        CallFailure::Refused { code, message } => format!("it answered: {message} ({code})"),
        CallFailure::Unanswered(fault) => format!("it needs input first: {}", fault.in_one_line()),
        CallFailure::Login(fault) => fault_as_clause(fault),
    }
}

/// Names that clients see for the items of a server, with the server's own.
struct UniqueNames<'a> {
    source: &'a SourceId,
    used: HashMap<ExposedName, Arc<str>>,
}

impl<'a> UniqueNames<'a> {
    fn new(source: &'a SourceId) -> Self {
        Self { source, used: HashMap::new() }
    }

    /// Adds a name. Fails if clients could not tell its item from an earlier one, which would make the preset fail:
    /// a server can list a name that equals a shortened one.
    fn add(&mut self, what: &str, name: &str) -> Result<(), String> {
        let Ok(exposed) = self.source.exposed_name(name) else { return Ok(()) };
        let shown = quoted(name, MAX_NAME_CHARS);
        match self.used.entry(exposed) {
            Entry::Vacant(free) => {
                free.insert(name.into());
                Ok(())
            }
            Entry::Occupied(used) if **used.get() == *name => {
                Err(format!("{what} '{shown}' is listed twice"))
            }
            Entry::Occupied(used) => Err(format!(
                "{what} '{shown}' would have the name '{}', like '{}'",
                used.key(),
                quoted(used.get(), MAX_NAME_CHARS)
            )),
        }
    }
}

/// Removes tools that clients cannot be shown.
fn drop_invalid_tools(source: &SourceId, listing: &mut Listing) {
    // Without the other parts, which would be copied for each tool.
    let alone = Listing {
        name: listing.name.clone(),
        params_schema: Arc::clone(&listing.params_schema),
        ..Listing::default()
    };
    let mut names = UniqueNames::new(source);
    let mut tools = std::mem::take(&mut listing.tools).into_iter();
    let mut invalid = Vec::new();
    while listing.tools.len() < MAX_TOOLS
        && let Some(tool) = tools.next()
    {
        let one = Listing { tools: vec![Arc::clone(&tool)], ..alone.clone() };
        let checked =
            names.add("tool", &tool.name).and_then(|()| one.check_server().map_err(|why| why.to_string()));
        match checked {
            Ok(()) => listing.tools.push(tool),
            Err(why) => invalid.push(why),
        }
    }
    let omitted = &mut listing.omitted;
    if let Some(first) = tools.next() {
        let (count, first) = (1 + tools.len(), quoted(&first.name, MAX_NAME_CHARS));
        omitted.add(
            count,
            format!("tool '{first}' and all after it, because a server has at most {MAX_TOOLS} tools"),
        );
    }
    invalid.into_iter().for_each(|why| omitted.add(1, why));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn listed(names: impl IntoIterator<Item = String>) -> Listing {
        let tool = |name: String| {
            json!({"name": name, "title": null, "description": "", "input_schema": {"type": "object"},
                "output_schema": null, "intent": "query", "effect": "read-only", "idempotent": true,
                "open_world": false, "dry_run": null, "meta": null})
        };
        let tools = names.into_iter().map(|name| serde_json::from_value(tool(name)).expect("a tool"));
        let mut listing = Listing { tools: tools.collect(), ..Listing::default() };
        drop_invalid_tools(&SourceId::Server("s".into()), &mut listing);
        listing
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.tools.iter().map(|tool| &*tool.name).collect()
    }

    #[test]
    fn names_of_up_to_128_characters_are_kept() {
        let listing = listed([64, 65, 128, 129].map(|length| "x".repeat(length)));
        assert_eq!(names(&listing), [64, 65, 128].map(|length| "x".repeat(length)));
        let expected = format!(
            "left out 1 item: tool name '{}…' has 129 characters; a name has 1 to 128",
            "x".repeat(64)
        );
        assert_eq!(listing.omitted.to_string(), expected);
        // 100 characters of 2 bytes each.
        let listing = listed(["ü".repeat(100), "fine".into()]);
        assert_eq!(names(&listing), ["fine"]);
        assert!(listing.omitted.reasons[0].contains("contains 'ü'"), "{:?}", listing.omitted);
    }

    #[test]
    fn a_name_that_equals_a_shortened_one_is_left_out() {
        let server = SourceId::Server("s".into());
        let long = "y".repeat(100);
        let shown = server.exposed_name(&long).expect("a name").to_string();
        let twin = shown.strip_prefix("s__").expect("a prefix").to_owned();
        assert_eq!(server.exposed_name(&twin).expect("a name").to_string(), shown);
        let listing = listed([long.clone(), twin.clone(), "fine".into()]);
        assert_eq!(names(&listing), [&long, "fine"]);
        let expected = format!("tool '{twin}' would have the name '{shown}', like '{}…'", "y".repeat(64));
        assert_eq!(listing.omitted.reasons, [expected]);
    }

    #[test]
    fn tools_after_the_512th_are_counted_and_not_checked() {
        let listing = listed((0..512).map(|number| format!("t{number}")));
        assert_eq!((listing.tools.len(), listing.omitted.count), (512, 0));
        let invalid = std::iter::once("not valid".to_owned());
        let listing = listed(invalid.chain((0..600).map(|number| format!("t{number}"))));
        assert_eq!((listing.tools.len(), listing.omitted.count), (512, 89));
        let expected = "tool 't512' and all after it, because a server has at most 512 tools";
        assert_eq!(listing.omitted.reasons[0], expected);
        assert_eq!(listing.omitted.reasons.len(), 2);
        let listing = listed((0..513).map(|number| format!("t{number}")));
        assert_eq!(listing.omitted.to_string(), format!("left out 1 item: {expected}"));
    }

    #[test]
    fn reasons_are_bounded() {
        let listing = listed((0..2_000).map(|number| format!("not valid {number}")));
        assert_eq!((listing.omitted.count, listing.omitted.reasons.len()), (2_000, 9));
        assert!(listing.omitted.to_string().ends_with("; and others"));
    }
}
