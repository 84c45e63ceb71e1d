//! MCP session over any transport. Sends each request once, without rmcp's helpers that repeat calls or cache answers.

mod follow;
mod input_required;
mod listing_budget;
mod resources_and_prompts;
mod tools;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, Reply, SourceId,
    completion::{CompletionRequest, Completions},
    lock,
    names::quoted,
    outcome::EmbeddedResource,
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use rmcp::{
    RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
        ClientRequest, PaginatedRequestParams, ProgressToken, RequestId, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RunningService, RunningServiceCancellationToken, ServiceError},
};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{
    active_calls::ActiveCalls,
    client::HostClient,
    connection::{CallFailure, ConnectionEnd, ServerConnection},
    convert,
    inbound::{InboundReader, MessageMemory, ProgressWatchers},
    process::ServerProcess,
    upstream_subscriptions::UpstreamSubscriptions,
};
use input_required::InputAnswers;
use listing_budget::ListingBudget;

/// Maximum pages of a list, and maximum tools in all of them.
const MAX_PAGES: usize = 64;
const MAX_TOOLS: usize = 4_096;

/// Maximum wait for the reason that a connection closed.
const MAX_CLOSE_REASON_WAIT: Duration = Duration::from_secs(1);

pub(super) struct ServerSession {
    server: SourceId,
    running: ActiveCalls,
    peer: Peer<RoleClient>,
    watchers: ProgressWatchers,
    followed: UpstreamSubscriptions,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    /// Server process. `None` for HTTP.
    process: Option<Arc<ServerProcess>>,
    end: watch::Receiver<Option<ConnectionEnd>>,
    inbound: InboundReader,
}

impl ServerSession {
    pub(super) fn new(
        running: RunningService<RoleClient, HostClient>,
        process: Option<ServerProcess>,
    ) -> Self {
        let (peer, watchers) = (running.peer().clone(), running.service().watchers.clone());
        let followed = running.service().followed.clone();
        let inbound = running.service().inbound.clone();
        let (server, calls) = (running.service().server.clone(), running.service().running.clone());
        let stop = Mutex::new(Some(running.cancellation_token()));
        let process = process.map(Arc::new);
        let (tell, end) = watch::channel(None);
        let (watched, guard) = (process.clone(), inbound.clone());
        tokio::spawn(async move {
            let why = match &watched {
                // A descendant may hold the output open after the process exits, and a process that exits closes its
                // output a moment earlier.
                Some(process) => tokio::select! {
                    how = process.ended() => how,
                    _ = running.waiting() => {
                        let how = tokio::time::timeout(MAX_CLOSE_REASON_WAIT / 2, process.ended()).await;
                        how.unwrap_or_else(|_| "it closed its output".into())
                    }
                },
                None => {
                    let _ = running.waiting().await;
                    "the connection is closed".into()
                }
            };
            let said = watched.and_then(|process| process.error_summary());
            let said = said.map(|said| format!("; stderr: {said}")).unwrap_or_default();
            let end = guard.ended().unwrap_or_else(|| ConnectionEnd::new(why));
            tell.send_replace(Some(ConnectionEnd { why: format!("{}{said}", end.why), ..end }));
        });
        Self { server, running: calls, peer, watchers, followed, stop, process, end, inbound }
    }

    /// Sends a request. Its result holds its memory until the call ends.
    async fn request(
        &self,
        request: ClientRequest,
        call: Option<&Arc<CallContext>>,
    ) -> Result<ServerResult, CallFailure> {
        let (result, memory) = self.measured_request(request, call).await?;
        if let Some(call) = call.filter(|_| memory.is_counted()) {
            call.keep_until_done(memory);
        }
        Ok(result)
    }

    async fn measured_request(
        &self,
        request: ClientRequest,
        call: Option<&Arc<CallContext>>,
    ) -> Result<(ServerResult, MessageMemory), CallFailure> {
        let starting = call.map(|_| self.running.start());
        let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let handle = match handle {
            Ok(handle) => handle,
            Err(error) => return Err(self.failure(error).await),
        };
        let token = handle.progress_token.clone();
        if let Some(progress) = call.and_then(|call| call.progress.clone()) {
            self.watchers.add(token.clone(), progress);
        }
        let _run = call.map(|call| self.running.begin(handle.id.clone(), call));
        drop(starting);
        let mut waiting = CancelOnDrop { session: self, id: handle.id.clone(), token, answered: false };
        let answer = handle.await_response().await;
        waiting.answered = true;
        let arrival = self.inbound.take_response(&waiting.id);
        match (answer, arrival.refused) {
            (_, Some(why)) => Err(CallFailure::Unreadable(why)),
            (Ok(answer), None) => Ok((arrival.result.unwrap_or(answer), arrival.memory)),
            (Err(error), None) => Err(self.failure(error).await),
        }
    }

    async fn pages<T>(
        &self,
        method: &str,
        budget: &ListingBudget,
        most: usize,
        ask: impl Fn(Option<PaginatedRequestParams>) -> ClientRequest,
        take: impl Fn(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<Vec<T>, CallFailure> {
        let (mut all, mut cursor) = (Vec::new(), None);
        for _ in 0..MAX_PAGES {
            let page =
                cursor.take().map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let (result, memory) = self.measured_request(ask(page), None).await?;
            budget.take(method, &memory)?;
            let (items, next) = take(result).ok_or_else(|| unexpected_response(method))?;
            all.extend(items);
            cursor = next;
            if cursor.is_none() || all.len() >= most {
                all.truncate(most);
                return Ok(all);
            }
        }
        Err(CallFailure::Transport(format!("its answer to {method} has no end after {MAX_PAGES} pages")))
    }

    async fn failure(&self, error: ServiceError) -> CallFailure {
        match error {
            ServiceError::McpError(error) => {
                CallFailure::Refused { code: error.code.0, message: quoted(&error.message, 2_000) }
            }
            ServiceError::TransportClosed => {
                // The output may close before the exit status and the last lines of standard error are known.
                let end = tokio::time::timeout(MAX_CLOSE_REASON_WAIT, self.ended()).await;
                CallFailure::Transport(end.map_or_else(|_| "the connection closed".into(), |end| end.why))
            }
            other => match crate::login::fault_of(&other) {
                Some(fault) => CallFailure::Login(fault.clone()),
                None => CallFailure::Transport(quoted(&crate::login::cause_in_words(&other), 500)),
            },
        }
    }
}

fn unexpected_response(method: &str) -> CallFailure {
    CallFailure::Transport(format!("it answered {method} with an unexpected result"))
}

/// Pending request. Dropping it without an answer cancels the request at the server.
struct CancelOnDrop<'a> {
    session: &'a ServerSession,
    id: RequestId,
    token: ProgressToken,
    answered: bool,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.session.watchers.remove(&self.token);
        if self.answered {
            return;
        }
        let (peer, id) = (self.session.peer.clone(), self.id.clone());
        tokio::spawn(async move {
            let params =
                CancelledNotificationParam::new(Some(id), Some("The caller stopped waiting.".into()));
            let _ = peer.send_notification(CancelledNotification::new(params).into()).await;
        });
    }
}

#[async_trait]
impl ServerConnection for ServerSession {
    async fn list(&self) -> Result<Listing, CallFailure> {
        let (info, budget) = (self.peer.peer_info(), ListingBudget::default());
        let has_tools = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
        let tools = match has_tools {
            true => self.tools(&budget).await?,
            false => Vec::new(),
        };
        let mut listing = convert::listing(info.as_deref(), tools);
        if let Some(info) = &info {
            self.add_resources_and_prompts(&info.capabilities, &budget, &mut listing).await;
        }
        Ok(listing)
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Reply, CallFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let make = |answers: InputAnswers| {
            let mut params = params.clone();
            (params.input_responses, params.request_state) = answers;
            CallToolRequest::new(params).into()
        };
        match self.request_with_input(context, make).await? {
            ServerResult::CallToolResult(result) => Ok(convert::reply(result)),
            _ => Err(unexpected_response("tools/call")),
        }
    }

    async fn list_resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure> {
        self.resources(cursor).await
    }

    async fn follow_resource(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        self.follow(uri).await
    }

    fn is_followed(&self) -> bool {
        self.followed.has_followers()
    }

    async fn read_resource(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure> {
        self.read(uri, context).await
    }

    async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Vec<PromptMessage>, CallFailure> {
        self.messages(name, arguments, context).await
    }

    async fn complete(&self, typed: CompletionRequest) -> Result<Completions, CallFailure> {
        self.suggestions(typed).await
    }

    async fn ended(&self) -> ConnectionEnd {
        let mut ended = self.end.clone();
        let end = ended.wait_for(Option::is_some).await;
        end.ok().and_then(|end| end.clone()).unwrap_or_else(|| ConnectionEnd::new("it has ended"))
    }

    async fn close(&self) {
        let stop = lock(&self.stop).take();
        if let Some(stop) = stop {
            // Closes the input of the process, so that the server exits.
            stop.cancel();
            self.ended().await;
        }
        if let Some(process) = &self.process {
            process.end().await;
        }
    }
}
