//! What a server lists: asked for when it is connected or says that it changed, written down, and told from there.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
};

use gatehouse_core::{
    Fault, check_threads, lock,
    names::quoted,
    ports::{
        servers::{RefreshReport, ServerListing},
        tool_index::{IndexedListing, KnownListing},
    },
    source::{Listing, MAX_TOOLS},
};

use super::{DownstreamServer, InFlightGuard, ServerContext};
use crate::downstream::connection::{CallFailure, ServerConnection};

/// Why it is not known what a server lists.
pub(super) enum LearnFailure {
    /// The server did not say it.
    Server(String),
    /// The index did not take it, which says nothing of the server.
    Index(Fault),
}

impl LearnFailure {
    /// In one line.
    pub(super) fn in_one_line(self) -> String {
        match self {
            Self::Server(why) => why,
            Self::Index(fault) => fault.in_one_line(),
        }
    }
}

impl From<String> for LearnFailure {
    fn from(why: String) -> Self {
        Self::Server(why)
    }
}

impl DownstreamServer {
    /// Asks what it lists and writes it down; what is wrong with single tools is told in the log, and they are left out.
    pub(super) async fn learn(
        &self,
        connection: &Arc<dyn ServerConnection>,
        force: bool,
    ) -> Result<RefreshReport, LearnFailure> {
        let _in_use = InFlightGuard::begin(self);
        let _learning = self.learning.lock().await;
        let limit = self.connection_timeout();
        let listed = tokio::time::timeout(limit, connection.list()).await;
        let listed =
            listed.map_err(|_| format!("it did not list its tools within {} s", limit.as_secs_f64()))?;
        let mut listing = listed.map_err(|failure| describe_failure(&failure))?;
        let (source, own) = (self.id.clone(), Weak::clone(&self.own));
        let checked = check_threads::run(&self.id, move |_| {
            listing.clean();
            let mut refused =
                own.upgrade().map(|own| own.expose_resources_and_prompts(&mut listing)).unwrap_or_default();
            refused.extend(drop_invalid_tools(&mut listing));
            (listing, refused)
        });
        let (listing, refused) = checked.await.map_err(|fault| fault.in_one_line())?;
        for why in refused.iter().take(8) {
            tracing::warn!(%source, "something it lists is left out: {}", self.redactor.redact_text(why.clone()));
        }
        let before = self.shared.index.known(&self.definition.name).await.ok().flatten();
        let indexed = IndexedListing {
            server: Arc::clone(&self.definition.name),
            tags: self.definition.tags.clone(),
            listing: Arc::new(listing),
            on_change: self.definition.on_change,
        };
        if lock(&self.inner).closed {
            return Err(LearnFailure::Server("it was removed or redefined".into()));
        }
        let report = self.shared.index.put(indexed, force).await.map_err(LearnFailure::Index)?;
        let tools_changed = report.added + report.updated + report.removed > 0;
        if tools_changed {
            tracing::info!(%source, added = report.added, updated = report.updated, removed = report.removed,
                unchanged = report.unchanged, "tools listed");
        }
        // The index alone knows what is held back, and whether another host saw the change first.
        let now = self.shared.index.known(&self.definition.name).await.map_err(LearnFailure::Index)?;
        let rest = |known: &Option<KnownListing>| known.as_ref().map(|known| without_tools(&known.listing));
        let held_back = |known: &Option<KnownListing>| known.as_ref().map_or(0, |known| known.quarantined);
        if tools_changed || rest(&before) != rest(&now) {
            self.shared.changes.send_modify(|changes| *changes += 1);
        }
        if before.is_some() && rest(&before) != rest(&now) {
            tracing::info!(%source, "prompts, templates or instructions changed");
        }
        if held_back(&now) > 0 && (tools_changed || held_back(&before) != held_back(&now)) {
            let (name, held_back) = (&self.definition.name, held_back(&now));
            tracing::warn!(%source, held_back, "held back until `gatehouse servers review {name}` approves it");
        }
        self.known().await.map_err(LearnFailure::Index)?;
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
            && let Err(why) = self.learn(&connection, false).await
        {
            let why = self.redactor.redact_text(why.in_one_line());
            tracing::warn!(source = %self.id, "the tools cannot be listed again: {why}");
            return false;
        }
        true
    }

    /// Asks anew what it lists.
    pub(in crate::downstream) async fn refresh(&self, force: bool) -> Result<RefreshReport, Fault> {
        let before = self.connected();
        let connection = self.connection().await?;
        // One that was made for this has just listed.
        if before.is_none() && !force {
            return Ok(lock(&self.inner).found.clone());
        }
        self.learn(&connection, force).await.map_err(|failure| self.listing_fault(&connection, failure))
    }

    /// The fault for a listing that is not known. The connection stays unless the server is at fault.
    pub(super) fn listing_fault(
        &self,
        connection: &Arc<dyn ServerConnection>,
        failure: LearnFailure,
    ) -> Fault {
        match failure {
            LearnFailure::Server(why) => self.lost_connection(connection, &why),
            LearnFailure::Index(fault) => fault,
        }
    }

    /// What is known of what it lists, without starting it.
    pub(in crate::downstream) async fn known(&self) -> Result<Option<ServerListing>, Fault> {
        let known = self.shared.index.known(&self.definition.name).await?;
        lock(&self.inner).last_change = known.as_ref().and_then(|known| known.last_change);
        let Some(source) = self.own.upgrade() else { return Ok(None) };
        Ok(known.map(|known| {
            let held = known
                .tools
                .iter()
                .filter_map(|tool| Some((tool.name.to_string(), tool.quarantine_reason.clone()?)));
            let held = Arc::new(held.collect());
            let listing = self.described.listing(&self.id, &self.definition.tools, known.listing);
            ServerListing { source: source as _, quarantined: held, listing }
        }))
    }

    /// The same, asked for where nothing is known.
    pub(in crate::downstream) async fn listing(&self) -> Result<ServerListing, Fault> {
        if let Some(known) = self.known().await? {
            return Ok(known);
        }
        // A call follows, or may: the connection does not end with the listing.
        lock(&self.inner).call_may_follow = true;
        self.ensure_listed().await?;
        self.known().await?.ok_or_else(|| Fault::internal(format!("What {} lists was not kept.", self.id)))
    }
}

impl ServerContext {
    /// Remembers the state of the index that clients are shown first. Asked before the index is read, so that no change falls
    /// between the two.
    pub(super) async fn record_shown_generation(&self) -> Result<(), Fault> {
        if lock(&self.shown).is_none() {
            let generation = self.index.generation().await?;
            lock(&self.shown).get_or_insert(generation);
        }
        Ok(())
    }

    /// Counts a change where the index is not as it was shown.
    pub(in crate::downstream) async fn check_for_changes(&self) -> Result<(), Fault> {
        let Some(shown) = *lock(&self.shown) else { return Ok(()) };
        let generation = self.index.generation().await?;
        if generation != shown {
            *lock(&self.shown) = Some(generation);
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }
}

/// Returns a listing without its tools, which the index compares.
fn without_tools(listing: &Listing) -> Listing {
    Listing { tools: Vec::new(), ..listing.clone() }
}

/// What failed, for people.
fn describe_failure(failure: &CallFailure) -> String {
    match failure {
        CallFailure::Transport(why) => why.clone(),
        CallFailure::Refused { code, message } => format!("it answered: {message} ({code})"),
        CallFailure::Unanswered(fault) => format!("it wants an answer first: {}", fault.in_one_line()),
        CallFailure::Unreadable(why) => why.clone(),
        CallFailure::Login(fault) => fault.in_one_line().trim_end_matches('.').to_owned(),
    }
}

/// Leaves out tools that no client could be shown, each with the reason: one bad tool takes no other with it.
fn drop_invalid_tools(listing: &mut Listing) -> Vec<String> {
    let mut refused = Vec::new();
    // Without what else there is, which would be copied and checked for each tool.
    let alone = Listing {
        name: listing.name.clone(),
        params_schema: Arc::clone(&listing.params_schema),
        ..Listing::default()
    };
    let mut seen = HashSet::new();
    let tools = std::mem::take(&mut listing.tools);
    for tool in tools {
        let one = Listing { tools: vec![Arc::clone(&tool)], ..alone.clone() };
        let why = match one.check() {
            _ if !seen.insert(Arc::clone(&tool.name)) => {
                format!("'{}' is listed twice", quoted(&tool.name, 64))
            }
            _ if listing.tools.len() == MAX_TOOLS => "there are too many".into(),
            Err(why) => why.to_string(),
            Ok(()) => {
                listing.tools.push(tool);
                continue;
            }
        };
        refused.push(why);
    }
    refused
}
