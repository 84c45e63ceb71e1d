//! Implements [`Source`] for gates. Every request runs in an instance, with the same queue, slots and limits.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Call, CallContext, CallDeadline, Outcome, Principal, Reply, Source, SourceId,
    catalog::ToolEntry,
    check_threads,
    completion::{CompletionRequest, Completions},
    names::quoted,
    outcome::{EmbeddedResource, Fault},
    prompt::FilledPrompt,
    resource::ResourcePage,
    schema::Schema,
    source::{FilterRequest, Listing},
};
use serde_json::{Map, Value};
use wasmtime::Store;

use crate::{
    abi::{ContractExports, GuestAnswer, ToolCall},
    capability::{InstanceContext, RunningCall},
    gate::Gate,
    instance::{CallFailure, broken},
    state::State,
};

impl Gate {
    /// Runs a request in an instance once this gate has a turn and the pool a slot.
    async fn serve<T>(
        &self,
        context: &Arc<CallContext>,
        deadline: &CallDeadline,
        params: &Arc<str>,
        request: impl for<'a> FnOnce(&'a dyn ContractExports, &'a mut Store<State>) -> GuestAnswer<'a, T> + Send,
    ) -> Result<T, Fault> {
        let ready = self.component().await?;
        let (turn, _place) = self.admit_call(context).await;
        context.set_turn(&turn);
        let running = RunningCall { context: Arc::clone(context), deadline: deadline.clone() };
        let facts = InstanceContext::new(&self.facts, Arc::clone(params), Some(running));
        self.prepare_folders().await?;
        let folders = &self.info().folders;
        let answer = ready.run(facts, folders, deadline, request, self.idle.as_ref()).await;
        self.version.traps.observe(matches!(answer, Err(CallFailure { trapped: true, .. })));
        answer.map_err(|ended| ended.fault)
    }

    async fn ask<T>(
        &self,
        call: &Call,
        params: &Arc<str>,
        request: impl for<'a> FnOnce(&'a dyn ContractExports, &'a mut Store<State>) -> GuestAnswer<'a, T> + Send,
    ) -> Result<T, Fault> {
        self.serve(&call.context, call.deadline(), params, request).await
    }
}

fn as_seen(
    context: &CallContext,
    tool: &ToolEntry,
    arguments: &Value,
    params: &str,
    deadline: &CallDeadline,
) -> ToolCall {
    ToolCall {
        id: context.id.to_string(),
        tool: tool.id.name.to_string(),
        arguments: arguments.to_string(),
        params: params.to_owned(),
        caller: match context.principal() {
            Principal::Local => None,
            Principal::Named(name) => Some(quoted(name, 128)),
        },
        preset: context.catalog.preset.to_string(),
        deadline_ms: deadline.remaining().as_millis() as u64,
        meta: context.meta.as_deref().map(|meta| Value::Object(meta.clone()).to_string()),
    }
}

#[async_trait]
impl Source for Gate {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        self.limits().time
    }

    fn redact(&self, text: String) -> String {
        self.facts.http.redactor().redact_text(text)
    }

    async fn list(&self, given: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let params: Arc<str> = serde_json::to_string(given).unwrap_or_default().into();
        if let Some(listing) = self.shared.index.listing(&self.info().digest, &params) {
            return Ok(self.report_removed_text(listing));
        }
        let mut listing = self.describe(given).await?;
        let (name, given) = (Arc::<str>::from(&*self.info().name), Value::Object(given.clone()));
        let listing = check_threads::run(&Principal::Local, self.id(), move |_| {
            listing.clean();
            listing.check().map_err(|reason| broken(&name, &reason))?;
            // Check before storing: the next start trusts the index and skips the check.
            let schema = Schema::new(Arc::clone(&listing.params_schema));
            schema.check(&given, "parameter").map_err(Fault::invalid)?;
            Ok::<_, Fault>(listing)
        });
        let listing = listing.await??;
        let listing = Arc::new(listing);
        self.shared.index.learn_listing(&self.info().digest, &params, Arc::clone(&listing));
        Ok(self.report_removed_text(listing))
    }

    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome {
        let (context, deadline, params) = (&call.context, call.deadline(), &tool.params);
        self.serve(context, deadline, params, |exports, store| {
            exports.call(store, as_seen(context, tool, &call.arguments, params, deadline))
        })
        .await
    }

    async fn filter(&self, asked: FilterRequest) -> Result<Option<Reply>, Fault> {
        let FilterRequest { context, tool, arguments, params, reply, deadline } = &asked;
        let filtered = self.serve(context, deadline, params, |exports, store| {
            let call = as_seen(context, tool, arguments, params, deadline);
            exports.filter(store, call, Arc::clone(tool), Reply::clone(reply))
        });
        Ok(filtered.await?.map(|reply| Reply { structured: None, ..reply }))
    }

    async fn list_resources(
        &self,
        call: &Call,
        params: &Arc<str>,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        self.ask(call, params, |exports, store| exports.list_resources(store, cursor.map(str::to_owned)))
            .await
    }

    async fn read_resource(
        &self,
        call: &Call,
        params: &Arc<str>,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        self.ask(call, params, |exports, store| exports.read_resource(store, uri.to_owned())).await
    }

    async fn resource_ttl(
        &self,
        call: &Call,
        params: &Arc<str>,
        uri: &str,
    ) -> Result<Option<Duration>, Fault> {
        let answer = self.ask(call, params, |exports, store| exports.changes_in(store, uri.to_owned()));
        Ok(answer.await?.map(Duration::from_millis))
    }

    async fn get_prompt(
        &self,
        call: &Call,
        params: &Arc<str>,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<FilledPrompt, Fault> {
        let arguments = serde_json::to_string(arguments).unwrap_or_default();
        let messages =
            self.ask(call, params, |exports, store| exports.get_prompt(store, name.to_owned(), arguments));
        Ok(FilledPrompt { description: None, messages: messages.await? })
    }

    async fn complete(
        &self,
        call: &Call,
        params: &Arc<str>,
        typed: &CompletionRequest,
    ) -> Result<Completions, Fault> {
        self.ask(call, params, |exports, store| exports.complete(store, typed.clone())).await
    }
}
