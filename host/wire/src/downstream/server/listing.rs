//! Listing a server when it connects or reports a change. The listing is stored in the index and read from there.

use std::sync::{Arc, Weak};

use gatehouse_core::{
    Fault, Principal, check_threads, lock,
    outcome::ResourceLink,
    ports::{
        servers::{RefreshReport, ServerListing, ServerLogin},
        tool_index::{IndexedListing, KnownListing},
    },
    source::Listing,
};

use super::{
    DownstreamServer, ServerContext,
    omitted_items::{UniqueNames, drop_invalid_tools},
};
use crate::downstream::connection::{CallFailure, ConnectFailure, ServerConnection};

const MAX_REMEMBERED_BYTES: usize = 1 << 20;

pub(super) enum ListFailure {
    Server(String),
    /// The server does not know the session anymore.
    SessionEnded,
    /// The index failed; the server works.
    Index(Fault),
}

impl ListFailure {
    pub(super) fn in_one_line(self) -> String {
        match self {
            Self::Server(reason) => reason,
            Self::SessionEnded => "it ended the session".to_owned(),
            Self::Index(fault) => fault.in_one_line(),
        }
    }
}

impl From<String> for ListFailure {
    fn from(reason: String) -> Self {
        Self::Server(reason)
    }
}

impl DownstreamServer {
    /// Lists the server and stores the result. Invalid items are left out and reported.
    pub(super) async fn list_and_store(
        &self,
        connection: &Arc<dyn ServerConnection>,
        force: bool,
    ) -> Result<RefreshReport, ListFailure> {
        let _in_use = self.begin_use();
        let _listing = self.listing_lock.lock().await;
        let listed = connection.list(self.connection_timeout()).await;
        let mut listing = listed.map_err(|failure| match failure {
            CallFailure::SessionEnded { .. } => ListFailure::SessionEnded,
            CallFailure::Unanswered(fault) => format!("it needs input first: {}", fault.in_one_line()).into(),
            failure => ConnectFailure::from(failure).message.into(),
        })?;
        let (source, source_id, this) = (self.id.clone(), self.id.clone(), Weak::clone(&self.this));
        let checked = check_threads::run(&Principal::Local, &self.id, move |_| {
            listing.clean();
            drop_invalid_tools(&source_id, &mut listing);
            if let Some(this) = this.upgrade() {
                if this.definition.login == ServerLogin::Caller {
                    // The listing is shared, but these are what one principal may read.
                    listing.known_resources.clear();
                    listing.skills.clear();
                }
                this.expose_resources_and_prompts(&mut listing);
            }
            listing
        });
        let mut listing = checked.await.map_err(|fault| fault.in_one_line())?;
        let omitted = &mut listing.omitted;
        for reason in omitted.all_reasons_mut() {
            *reason = self.limits.redactor.redact_text(std::mem::take(reason));
        }
        for reason in &omitted.reasons {
            tracing::warn!(%source, "leaving out an item of its listing: {reason}");
        }
        let omitted = (!omitted.is_empty()).then(|| (self.definition.name.to_string(), omitted.clone()));
        let before = self.shared.index.known(&self.definition.name).await.ok().flatten();
        if before.as_ref().is_some_and(|before| before.listing.version != listing.version) {
            // It may have the other lifecycle now.
            self.forget_start().await;
        }
        let indexed = IndexedListing {
            server: Arc::clone(&self.definition.name),
            tags: self.definition.tags.clone(),
            listing: Arc::new(listing),
            on_change: self.definition.on_change,
        };
        if lock(&self.inner).closed {
            return Err(ListFailure::Server("it was removed or redefined".into()));
        }
        let is_complete = indexed.listing.incomplete.is_empty();
        let mut report = self.shared.index.put(indexed, force).await.map_err(ListFailure::Index)?;
        report.omitted.extend(omitted);
        let tools_changed = report.added + report.updated + report.removed > 0;
        if tools_changed {
            tracing::info!(%source, added = report.added, updated = report.updated, removed = report.removed,
                unchanged = report.unchanged, "tools listed");
        }
        // Only the index knows which tools are quarantined, and whether another host stored the change first.
        let now = self.shared.index.known(&self.definition.name).await.map_err(ListFailure::Index)?;
        let without_tools = |listing: &Listing| Listing { tools: Vec::new(), ..listing.clone() };
        let rest = |known_listing: &Option<KnownListing>| {
            known_listing.as_ref().map(|known_listing| without_tools(&known_listing.listing))
        };
        let quarantined = |known_listing: &Option<KnownListing>| {
            known_listing.as_ref().map_or(0, |known_listing| known_listing.quarantined)
        };
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
        lock(&self.inner).listed_in_part = !is_complete;
        if !is_complete && let Some(this) = self.this.upgrade() {
            this.complete_listing();
        }
        Ok(report)
    }

    /// Lists the server on this connection, or on a new one if the session has ended. Also returns the connection.
    pub(super) async fn list_in_session(
        &self,
        connection: Arc<dyn ServerConnection>,
        force: bool,
    ) -> Result<(Arc<dyn ServerConnection>, Result<RefreshReport, ListFailure>), Fault> {
        match self.list_and_store(&connection, force).await {
            Err(ListFailure::SessionEnded) => {
                self.retire(&connection);
                let next = self.connection().await?;
                let listed = self.list_and_store(&next, force).await;
                Ok((next, listed))
            }
            listed => Ok((connection, listed)),
        }
    }

    /// Lists the server again. Returns `false` if that failed, or a list is incomplete, and may succeed later.
    pub(super) async fn list_again(&self) -> bool {
        let connection = {
            let mut inner = lock(&self.inner);
            inner.stale = inner.connection.is_none();
            inner.connection.clone()
        };
        let Some(connection) = connection else { return true };
        let listed = match self.list_in_session(connection, false).await {
            Ok((_, listed)) => listed.map_err(ListFailure::in_one_line),
            Err(fault) => Err(fault.in_one_line()),
        };
        if let Err(reason) = listed {
            let reason = self.limits.redactor.redact_text(reason);
            tracing::warn!(source = %self.id, "cannot list the tools again: {reason}");
            return false;
        }
        !lock(&self.inner).listed_in_part
    }

    pub(in crate::downstream) async fn refresh(&self, force: bool) -> Result<RefreshReport, Fault> {
        self.forget_start().await;
        let before = self.connected();
        let connection = self.connection().await?;
        // A new connection has just listed its tools.
        if before.is_none() && !force {
            return Ok(lock(&self.inner).first_report.clone());
        }
        let (connection, listed) = self.list_in_session(connection, force).await?;
        listed.map_err(|failure| self.listing_fault(&connection, failure))
    }

    /// Converts the failure. Closes the connection if the server failed.
    pub(super) fn listing_fault(
        &self,
        connection: &Arc<dyn ServerConnection>,
        failure: ListFailure,
    ) -> Fault {
        match failure {
            ListFailure::Index(fault) => fault,
            ListFailure::SessionEnded => {
                self.retire(connection);
                self.unreachable(&ListFailure::SessionEnded.in_one_line())
            }
            ListFailure::Server(reason) => {
                let fault = self.unreachable(&reason);
                self.close_connection(connection, reason);
                fault
            }
        }
    }

    /// Returns the stored listing without starting the server.
    pub(in crate::downstream) async fn known(&self) -> Result<Option<ServerListing>, Fault> {
        let known_listing = self.shared.index.known(&self.definition.name).await?;
        lock(&self.inner).last_change =
            known_listing.as_ref().and_then(|known_listing| known_listing.last_change);
        let Some(source) = self.this.upgrade() else { return Ok(None) };
        Ok(known_listing.map(|mut known_listing| {
            // A listing from before each caller had a login may have the skills of one of them.
            if self.definition.login == ServerLogin::Caller && !known_listing.listing.skills.is_empty() {
                Arc::make_mut(&mut known_listing.listing).skills.clear();
            }
            let quarantined = known_listing
                .tools
                .iter()
                .filter_map(|tool| Some((tool.name.to_string(), tool.quarantine_reason.clone()?)));
            let quarantined = Arc::new(quarantined.collect());
            let listing = self.described(known_listing.listing);
            ServerListing { source: source as _, quarantined, listing }
        }))
    }

    /// Returns the stored listing, or lists the server as the caller if there is none.
    pub(in crate::downstream) async fn listing(&self, caller: &Principal) -> Result<ServerListing, Fault> {
        if let Some(server_listing) = self.known().await? {
            return Ok(server_listing);
        }
        let caller_server = self.signed_in(caller).await?;
        // A call may follow, so the connection stays open after the listing.
        lock(&caller_server.inner).call_may_follow = true;
        caller_server.ensure_listed().await?;
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
            let prompt_listing = Listing { prompts: vec![prompt.clone()], ..bare.clone() };
            // An invalid prompt takes no name.
            let checked = prompt_listing.check_server().map_err(|reason| reason.to_string());
            let checked = checked.and_then(|()| names.add("prompt", &prompt.name));
            checked.map_err(|reason| omitted.add(1, reason)).is_ok()
        });
        let mut sound = |item_listing: Listing| {
            item_listing.check_server().map_err(|reason| omitted.add(1, reason.to_string())).is_ok()
        };
        let templates = std::mem::take(&mut listing.templates);
        if listing.resources {
            let exposed_templates = templates.into_iter().map(|template| self.uris.template(template));
            listing.templates = vec![self.uris.family.clone()];
            listing.templates.extend(
                exposed_templates
                    .filter(|template| sound(Listing { templates: vec![template.clone()], ..bare.clone() })),
            );
        }
        self.expose_skills(listing);
        let mut remaining_bytes = MAX_REMEMBERED_BYTES;
        let resources = std::mem::take(&mut listing.known_resources);
        let resources = resources.into_iter().filter_map(|link| self.expose_link(link)).take_while(|link| {
            let texts = [&link.title, &link.description, &link.mime_type].into_iter().flatten();
            let bytes = link.uri.len() + link.name.len() + texts.map(String::len).sum::<usize>();
            remaining_bytes.checked_sub(bytes).map(|rest| remaining_bytes = rest).is_some()
        });
        listing.known_resources = resources.collect();
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
        let Some(last_generation) = *lock(&self.shown_generation) else { return Ok(()) };
        let generation = self.index.generation().await?;
        if generation != last_generation {
            *lock(&self.shown_generation) = Some(generation);
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }
}
