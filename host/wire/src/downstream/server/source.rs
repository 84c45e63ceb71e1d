//! [`Source`] implementation of a server.
//!
//! Longer than 300 lines because it has every method of the trait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Call, Fault, FaultKind, Outcome, Principal, Source, SourceId,
    catalog::ToolEntry,
    completion::{CompletionRequest, CompletionTarget, Completions},
    lock,
    names::quoted,
    outcome::EmbeddedResource,
    ports::servers::{ServerListing, ServerLogin},
    prompt::FilledPrompt,
    reply_view,
    resource::{ResourcePage, UriTemplate},
    skill::Skill,
    source::{Listing, PendingListing},
};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

use super::{AfterListing, DownstreamServer, connection_use::record_connecting};
use crate::downstream::{
    connection::{CallFailure, ServerConnection},
    peer::Lifecycle,
};

/// Time limit for listing resources of a connected server. After that, the stored list is used.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);

const INVALID_PARAMS: i32 = -32602;

#[async_trait]
impl Source for DownstreamServer {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        self.definition.timeout
    }

    fn max_time_limit(&self) -> Duration {
        self.definition.max_timeout
    }

    fn redact(&self, text: String) -> String {
        self.limits.redactor.redact_text(text)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        self.shared.record_shown_generation().await?;
        if let Some(listing) = self.sign_in_listing().await? {
            return Ok(listing);
        }
        Ok(without_quarantined(self.listing(&Principal::Local).await?))
    }

    async fn list_now(&self, _: &Map<String, Value>) -> Result<Result<Arc<Listing>, PendingListing>, Fault> {
        self.shared.record_shown_generation().await?;
        if let Some(listing) = self.sign_in_listing().await? {
            return Ok(Ok(listing));
        }
        Ok(self.known().await?.map(without_quarantined).ok_or_else(|| self.first_listing(AfterListing::Keep)))
    }

    async fn known_skills(&self) -> Vec<Skill> {
        let server_listing = self.known().await.ok().flatten();
        server_listing.map(|server_listing| server_listing.listing.skills.clone()).unwrap_or_default()
    }

    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome {
        if self.is_sign_in(&tool.id.name).await? {
            return self.sign_in(call).await;
        }
        self.signed_in_for(&call.context).await?.call_as_itself(call, tool).await
    }

    /// Does not start the server: the stored list is enough to choose from.
    async fn list_resources(
        &self,
        call: &Call,
        _: &Arc<str>,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        let caller_server = self.for_caller(&call.context.caller.principal)?;
        let _running = caller_server.begin_use();
        let mut connection = caller_server.connection_to_list(MAX_LIST_WAIT).await;
        let mut listed = caller_server.ask_for_resources(connection.as_ref(), cursor).await;
        if let (Some(ended), Some(Err(CallFailure::SessionEnded { .. }))) = (&connection, &listed) {
            caller_server.retire(ended);
            connection = tokio::time::timeout(MAX_LIST_WAIT, caller_server.connection())
                .await
                .ok()
                .and_then(Result::ok);
            listed = caller_server.ask_for_resources(connection.as_ref(), cursor).await;
        }
        if connection.is_some() {
            match listed {
                Some(Ok(page)) => {
                    let resources =
                        page.resources.into_iter().filter_map(|link| self.expose_link(link)).collect();
                    return Ok(ResourcePage { resources, next: page.next });
                }
                Some(Err(CallFailure::Refused { message, .. })) if cursor.is_some() => {
                    return Err(Fault::invalid(self.limits.redactor.redact_text(message)));
                }
                _ => tracing::warn!(source = %self.id, "cannot list its resources; using the stored list"),
            }
        }
        if cursor.is_some() {
            return Err(Fault::invalid("server restarted; request the list again without a cursor"));
        }
        // A listing from before each caller had a login may have the resources of one of them.
        let server_listing = match self.definition.login {
            ServerLogin::Shared => self.known().await?,
            ServerLogin::Caller => None,
        };
        let resources = server_listing
            .map(|server_listing| server_listing.listing.known_resources.clone())
            .unwrap_or_default();
        Ok(ResourcePage { resources, next: None })
    }

    fn resource_families(&self) -> Vec<UriTemplate> {
        [&self.uris.family, &self.uris.app_family, &self.uris.skill_family].map(UriTemplate::clone).to_vec()
    }

    fn exposed_uri(&self, uri: &str) -> Option<String> {
        self.uris.to_exposed(uri)
    }

    async fn read_resource(
        &self,
        call: &Call,
        _: &Arc<str>,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        let upstream = self.upstream_uri(uri)?;
        let caller_server = self.signed_in_for(&call.context).await?;
        let _running = caller_server.begin_use();
        let (upstream, context) = (upstream.as_str(), &call.context);
        let read = |connection: Arc<dyn ServerConnection>| async move {
            connection.read_resource(upstream, context).await
        };
        let (connection, read) = caller_server.request_in_session(&call.context, read).await?;
        let mut read = read.map_err(|failure| caller_server.resource_failed(&connection, failure))?;
        if let Some(exposed) = self.verify_skill_file(upstream, &read).await? {
            read.iter_mut().for_each(|part| part.uri.clone_from(&exposed));
            return Ok(read);
        }
        for part in &mut read {
            // Parts of a directory have URIs of their own. None is a file of a skill, which would not be checked.
            if let Some(exposed) = self.uris.to_exposed_content(&part.uri) {
                part.uri = exposed;
            }
        }
        Ok(read)
    }

    /// Always `None`: asking would read the resource.
    async fn resource_ttl(&self, _: &Call, _: &Arc<str>, _: &str) -> Result<Option<Duration>, Fault> {
        Ok(None)
    }

    async fn watch_resource(
        &self,
        call: &Call,
        _: &Arc<str>,
        uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        let upstream = self.upstream_uri(uri)?;
        let caller_server = self.signed_in(&call.context.caller.principal).await?;
        let _running = caller_server.begin_use();
        let upstream = upstream.as_str();
        let follow =
            |connection: Arc<dyn ServerConnection>| async move { connection.follow_resource(upstream).await };
        let (connection, followed) = caller_server.request_in_session(&call.context, follow).await?;
        followed.map_err(|failure| caller_server.resource_failed(&connection, failure))
    }

    async fn get_prompt(
        &self,
        call: &Call,
        _: &Arc<str>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<FilledPrompt, Fault> {
        let caller_server = self.signed_in_for(&call.context).await?;
        let _running = caller_server.begin_use();
        let get = |connection: Arc<dyn ServerConnection>| async move {
            connection.get_prompt(name, arguments.clone(), &call.context).await
        };
        let (connection, result) = caller_server.request_in_session(&call.context, get).await?;
        let mut filled = result.map_err(|failure| caller_server.call_failed(&connection, failure))?;
        filled.messages.iter_mut().for_each(|message| self.uris.map(&mut message.content));
        Ok(filled)
    }

    async fn complete(
        &self,
        call: &Call,
        _: &Arc<str>,
        typed: &CompletionRequest,
    ) -> Result<Completions, Fault> {
        let mut typed = typed.clone();
        if let CompletionTarget::Template(template) = &mut typed.target {
            if self.resource_families().iter().any(|family| *template == family.uri_template) {
                return Ok(Completions::default());
            }
            *template = self.uris.to_upstream(template).unwrap_or_default();
        }
        let caller_server = self.signed_in(&call.context.caller.principal).await?;
        let _running = caller_server.begin_use();
        let typed = &typed;
        let complete =
            |connection: Arc<dyn ServerConnection>| async move { connection.complete(typed.clone()).await };
        let (connection, completed) = caller_server.request_in_session(&call.context, complete).await?;
        completed.map_err(|failure| caller_server.call_failed(&connection, failure))
    }
}

/// Returns the fault for a request that the server may have run before the connection ended.
fn may_have_run(message: String) -> Fault {
    Fault { retryable: false, ..Fault::unavailable(message) }.hint("The call may have taken effect.")
}

fn without_quarantined(listed: ServerListing) -> Arc<Listing> {
    if listed.quarantined.is_empty() {
        return listed.listing;
    }
    let mut listing = Listing::clone(&listed.listing);
    listing.tools.retain(|tool| listed.quarantined.iter().all(|(name, _)| **name != *tool.name));
    Arc::new(listing)
}

impl DownstreamServer {
    /// Returns a page of the server's resources. `None` if there is no connection, or no answer in time.
    async fn ask_for_resources(
        &self,
        connection: Option<&Arc<dyn ServerConnection>>,
        cursor: Option<&str>,
    ) -> Option<Result<ResourcePage, CallFailure>> {
        tokio::time::timeout(MAX_LIST_WAIT, connection?.list_resources(cursor)).await.ok()
    }

    /// Calls a tool over the connection of this server, which has the caller's login.
    async fn call_as_itself(&self, call: &Call, tool: &ToolEntry) -> Outcome {
        let _running = self.begin_use();
        lock(&self.inner).needed |= !call.context.isolated;
        let Value::Object(arguments) = &call.arguments else {
            return Err(Fault::invalid("arguments must be an object"));
        };
        let send = |connection: Arc<dyn ServerConnection>| async move {
            connection.call(&tool.declared, arguments.clone(), &call.context).await
        };
        let (connection, answer, isolated) = if call.context.isolated {
            // The server was listed for this call, which now has its own connection.
            if std::mem::take(&mut lock(&self.inner).call_may_follow) {
                self.stop_unless_needed();
            }
            let began = Instant::now();
            let isolated = self.connect_isolated().await;
            record_connecting(&call.context, began);
            let isolated = isolated?;
            let connection = Arc::clone(&isolated.connection);
            let answer = send(Arc::clone(&connection)).await;
            (connection, answer, Some(isolated))
        } else {
            let (connection, answer) = self.request_in_session(&call.context, send).await?;
            (connection, answer, None)
        };
        let outcome = match answer {
            Ok(mut reply) => {
                lock(&self.inner).breaker.record_success();
                // Map links only if clients of this preset can read them.
                if call.context.catalog.resources_and_prompts.can_read_from(&self.id) {
                    reply.content.iter_mut().for_each(|block| self.uris.map(block));
                }
                reply_view::mark_server_data(&mut reply, &tool.declared);
                Ok(reply)
            }
            Err(failure) => Err(self.call_failed(&connection, failure)),
        };
        if let Some(isolated) = isolated {
            isolated.end().await;
        }
        outcome
    }

    /// Like [`Self::call_failed`], for the request of a resource. Since 2026-07-28, one that does not exist has the code of
    /// invalid parameters.
    fn resource_failed(&self, connection: &Arc<dyn ServerConnection>, failure: CallFailure) -> Fault {
        let is_missing = connection.start().lifecycle == Lifecycle::Discovery
            && matches!(failure, CallFailure::Refused { code, .. } if code == INVALID_PARAMS);
        let fault = self.call_failed(connection, failure);
        if is_missing { Fault { kind: FaultKind::NotFound, ..fault } } else { fault }
    }

    /// Converts the failure, and updates the breaker and the connection.
    pub(super) fn call_failed(&self, connection: &Arc<dyn ServerConnection>, failure: CallFailure) -> Fault {
        const METHOD_NOT_FOUND: i32 = -32601;
        const RESOURCE_NOT_FOUND: i32 = -32002;
        let name = &self.definition.name;
        if connection.has_lost_session() {
            self.retire(connection);
        }
        match failure {
            CallFailure::NotSent(reason) => {
                let reason = self.limits.redactor.redact_text(reason);
                self.close_connection(connection, reason.clone());
                self.unreachable(&reason)
            }
            CallFailure::Status { status, message } => {
                let message = self.limits.redactor.redact_text(message);
                let message = format!("server '{name}' answered {message}");
                if status < 500 && status != 429 {
                    lock(&self.inner).breaker.record_success();
                    return Fault::new(FaultKind::Internal, message);
                }
                lock(&self.inner).breaker.call_failed(Instant::now());
                may_have_run(message)
            }
            CallFailure::Transport(reason) => {
                let reason = self.limits.redactor.redact_text(reason);
                lock(&self.inner).breaker.call_failed(Instant::now());
                self.close_connection(connection, reason.clone());
                may_have_run(format!("server '{name}' did not answer: {reason}"))
            }
            CallFailure::Refused { code, message } => {
                let message = self.limits.redactor.redact_text(message);
                lock(&self.inner).breaker.record_success();
                let kind = match code {
                    INVALID_PARAMS => FaultKind::InvalidArguments,
                    METHOD_NOT_FOUND | RESOURCE_NOT_FOUND => FaultKind::NotFound,
                    _ => FaultKind::Internal,
                };
                Fault::new(kind, format!("server '{name}' answered: {message} ({code})"))
            }
            CallFailure::Login(fault) => {
                let reason = self.limits.redactor.redact_text(fault.in_one_line());
                // The next call reconnects with the login that is stored by then.
                self.close_connection(connection, reason);
                let message = self.limits.redactor.redact_text(fault.message);
                Fault { message: format!("server '{name}' refused the call: {message}"), ..fault }
            }
            CallFailure::SessionEnded { has_begun } => {
                lock(&self.inner).breaker.call_failed(Instant::now());
                self.retire(connection);
                if !has_begun {
                    return self.unreachable("it ended the session before it ran the request");
                }
                may_have_run(format!("server '{name}' ended the session during the call"))
            }
            CallFailure::Unreadable(reason) => {
                lock(&self.inner).breaker.record_success();
                let is_too_large = ["more than", "limit"].iter().any(|word| reason.contains(word));
                let message = format!("cannot read the answer of server '{name}': {reason}");
                if is_too_large {
                    Fault::exhausted(message).hint("Request less data, for example one page or fewer fields.")
                } else {
                    Fault::internal(message).hint("The server may work better in another version.")
                }
            }
            CallFailure::Unanswered(fault) => {
                lock(&self.inner).breaker.record_success();
                Fault {
                    message: format!("server '{name}' needs input from the client: {}", fault.message),
                    ..fault
                }
            }
        }
    }

    fn upstream_uri(&self, uri: &str) -> Result<String, Fault> {
        let upstream = self.uris.to_upstream(uri);
        upstream.ok_or_else(|| Fault::not_found(format!("resource not found: '{}'", quoted(uri, 256))))
    }
}
