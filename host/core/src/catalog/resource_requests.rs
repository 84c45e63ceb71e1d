//! Client requests other than calls: resources, prompts and completions.
//!
//! Like a call, such a request has an id, a principal, a deadline, cancellation and a log line, and counts for quotas. It
//! skips the pipeline, because there is no tool to admit and no schema to check.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::watch;
use tracing::Level;

use crate::{
    Call, Fault, FaultKind, SourceId,
    completion::{CompletionRequest, CompletionSource, Completions},
    hidden_chars, names,
    outcome::{EmbeddedResource, ResourceLink},
    pipeline::CALL_LOG_TARGET,
    prompt::FilledPrompt,
    resource::ResourcePage,
    resources_and_prompts::{PromptEntry, ResourceSource},
};

/// How a request uses the quotas of its caller.
#[derive(Clone, Copy, PartialEq)]
enum QuotaUse {
    /// As a call, and for the tokens of its answer.
    Call,
    /// Only for the tokens of its answer. It is never refused.
    Tokens,
}

/// Models read lists just as they read tool descriptions.
fn clean_link(link: &mut ResourceLink) {
    hidden_chars::strip_text(&mut link.name);
    for text in [&mut link.title, &mut link.description, &mut link.mime_type].into_iter().flatten() {
        hidden_chars::strip_text(text);
    }
}

impl Call {
    /// Returns a page of a source's resources, starting at the source's own cursor.
    pub async fn list_resources(
        &self,
        from: &ResourceSource,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        let subject = from.source.id().name();
        let size = |page: &ResourcePage| page.resources.iter().map(|link| link.uri.len()).sum();
        let work = async {
            let mut page = from.source.list_resources(self, &from.params, cursor).await?;
            page.resources.iter_mut().for_each(clean_link);
            Ok(page)
        };
        self.run_request(subject, QuotaUse::Tokens, size, work).await
    }

    pub async fn read_resource(
        &self,
        from: &ResourceSource,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        let size = |read: &Vec<EmbeddedResource>| read.iter().map(EmbeddedResource::bytes).sum();
        self.run_request(uri, QuotaUse::Call, size, from.source.read_resource(self, &from.params, uri)).await
    }

    /// Returns how long the resource stays current. `None` if the source does not know.
    pub async fn resource_ttl(&self, from: &ResourceSource, uri: &str) -> Result<Option<Duration>, Fault> {
        self.run_request(uri, QuotaUse::Tokens, |_| 0, from.source.resource_ttl(self, &from.params, uri))
            .await
    }

    /// Subscribes to a resource. `None` if its source reports no changes.
    pub async fn watch_resource(
        &self,
        from: &ResourceSource,
        uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        self.run_request(uri, QuotaUse::Call, |_| 0, from.source.watch_resource(self, &from.params, uri))
            .await
    }

    pub async fn get_prompt(
        &self,
        entry: &PromptEntry,
        arguments: &Map<String, Value>,
    ) -> Result<FilledPrompt, Fault> {
        let size =
            |filled: &FilledPrompt| filled.messages.iter().map(|message| message.content.bytes()).sum();
        let work = async {
            entry.prompt.check_arguments(arguments)?;
            let mut filled =
                entry.source.get_prompt(self, &entry.params, &entry.prompt.name, arguments).await?;
            if matches!(entry.source.id(), SourceId::Gate(_)) {
                // The contract of gates has none in a result.
                filled.description = entry.prompt.description.clone();
            }
            if let Some(text) = &mut filled.description {
                hidden_chars::strip_text(text);
            }
            Ok(filled)
        };
        self.run_request(entry.name.as_str(), QuotaUse::Call, size, work).await
    }

    pub async fn complete(
        &self,
        from: &CompletionSource<'_>,
        request: &CompletionRequest,
    ) -> Result<Completions, Fault> {
        let size = |completions: &Completions| completions.values.iter().map(String::len).sum();
        let work = async { Ok(from.source.complete(self, from.params, request).await?.bounded()) };
        self.run_request(&request.argument, QuotaUse::Call, size, work).await
    }

    /// Runs `work` until the deadline or until the client cancels, and logs the result.
    async fn run_request<T>(
        &self,
        subject: &str,
        quota_use: QuotaUse,
        size: impl Fn(&T) -> usize,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let context = &self.context;
        let method = &context.name;
        let ended = |reason: String| Fault::new(FaultKind::TimedOut, format!("'{method}' {reason}"));
        let quotas = context.pipeline.quotas.as_ref();
        let _permit = match quotas.filter(|_| quota_use == QuotaUse::Call) {
            Some(quotas) => quotas.admit(&context.caller, true).await?,
            None => None,
        };
        let answer = tokio::select! {
            biased;
            answer = work => answer,
            () = self.deadline().expired() => {
                let seconds = context.time_limit().as_secs_f32();
                Err(ended(format!("was stopped after {seconds} s")))
            }
            () = context.cancel.cancelled() => Err(ended("was cancelled by the client".into())),
        };
        let answer = answer.map_err(|fault| match &context.pipeline.local_paths {
            Some(paths) => paths.clean_fault(context, fault),
            None => fault,
        });
        if let (Some(quotas), Ok(answer)) = (quotas, &answer) {
            quotas.charge_bytes(&context.caller, size(answer));
        }
        if tracing::enabled!(target: CALL_LOG_TARGET, Level::INFO) {
            let (outcome, bytes) = match &answer {
                Ok(answer) => ("ok", size(answer)),
                Err(fault) => (fault.kind.as_str(), fault.message.len()),
            };
            let (subject, preset) = (names::quoted(subject, 128), &context.catalog.preset);
            let ms = context.started.elapsed().as_micros() as f64 / 1_000.0;
            tracing::info!(target: CALL_LOG_TARGET, call = %context.id, what = %subject, %preset, ms, outcome, bytes, "{method}");
        }
        answer
    }
}
