//! Applies filters, which usually shorten replies, to the client's own calls. Nested calls get whole replies.
//!
//! Errors, short replies and those for programs stay as they are. A tool of a gate that is reached through another tool
//! is filtered as if the client had called it. Filters are untrusted and optional: if one fails, the client gets the
//! original reply. Clients see no output schema or structured data of tools with filters, because a shortened reply has
//! no structured data.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_telemetry::metrics;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::{Next, Stage, run_work};
use crate::{
    Call, CallDeadline, ContentPart, Fault, FaultKind, LogLimit, Outcome, Principal, Reply, SourceId,
    filters::AttachedFilter, forwarding::ReplyOrigin, hash, json, names, quota_meter::estimated_tokens,
    reply_view, single_flight::SingleFlight, source::FilterRequest, workflow::takes_requests,
};

/// Minimum bytes of text for a filter to run. A filter's own text takes as much.
const MIN_TEXT_BYTES: usize = 1_024;

/// Time reserved to send the reply after the filter's deadline.
const REPLY_TIME_RESERVE: Duration = Duration::from_millis(250);

/// Maximum bytes of text to hash on a thread that serves requests.
const MAX_INLINE_HASH_BYTES: usize = 64 << 10;

static FAILURE_LOG_LIMIT: LogLimit = LogLimit::new();

/// The identity of filter work: equal keys share one run. `content` is the SHA-256 of arguments and reply.
#[derive(Clone, PartialEq, Eq, Hash)]
struct FilterKey {
    principal: Principal,
    filter: SourceId,
    params: Arc<str>,
    preset: Arc<str>,
    tool: String,
    called: Vec<String>,
    content: String,
}

/// The filtered reply. `None` if the filter leaves the reply as it is.
type FilterResult = Result<Option<Arc<Reply>>, Fault>;

#[derive(Default)]
pub struct CompactStage {
    running: SingleFlight<FilterKey, FilterResult>,
    failures: AtomicU64,
}

#[async_trait]
impl Stage for CompactStage {
    fn applies(&self, call: &Call) -> bool {
        let has_filters = || call.context.entry().is_ok_and(|entry| !entry.filters.is_empty());
        call.context.enclosing_sources.is_empty() && !call.context.for_program && has_filters()
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let mut reply = next.run(call).await?;
        let entry = call.context.entry()?;
        if reply.is_error {
            return Ok(reply);
        }
        // An interface shows the data, which no model reads.
        let has_interface = entry.spec.has_interface() && call.context.client.profile().features.apps;
        let for_interface = if has_interface { reply.structured.clone() } else { None };
        let data;
        (reply, data) = read_data(reply).await?;
        let bytes = |reply: &Reply| reply.text_bytes() + data.as_ref().map_or(0, String::len);
        // A request that names the form of its answer gets that form.
        let wants_form = takes_requests(entry) && call.arguments["artifact"].is_string();
        if bytes(&reply) >= MIN_TEXT_BYTES && !wants_form {
            let origin = ReplyOrigin::from_call(call, entry);
            for filter in &entry.filters {
                if bytes(&reply) >= MIN_TEXT_BYTES && origin.is_filtered_by(entry, filter) {
                    reply = self.apply_filter(call, &origin, filter, reply).await;
                }
            }
        }
        // A filter that shortened the reply took the data into account.
        if reply.structured.is_some() {
            reply.content.extend(data.map(ContentPart::Text));
        }
        Ok(Reply { structured: for_interface, ..reply })
    }
}

impl CompactStage {
    async fn apply_filter(
        &self,
        call: &Call,
        origin: &ReplyOrigin,
        filter: &AttachedFilter,
        reply: Reply,
    ) -> Reply {
        let reply = Arc::new(reply);
        let filtered = self.run_filter(call, origin, filter, &reply).await;
        match filtered.and_then(|new| new.map(|new| check_reply(&reply, new)).transpose()) {
            Ok(Some(new)) => {
                let new = Arc::unwrap_or_clone(new);
                if let Some(metrics) = metrics() {
                    let saved = reply.text_bytes().saturating_sub(new.text_bytes());
                    let filter = filter.source.id().name();
                    metrics.tokens_saved.series([filter]).inc_by(estimated_tokens(saved));
                }
                // `_meta` is for programs, so filters do not shorten it.
                Reply { meta: new.meta.or_else(|| reply.meta.clone()), ..new }
            }
            Ok(None) => Arc::unwrap_or_clone(reply),
            Err(fault) => {
                self.report(call, filter, &fault);
                Arc::unwrap_or_clone(reply)
            }
        }
    }

    async fn run_filter(
        &self,
        call: &Call,
        origin: &ReplyOrigin,
        filter: &AttachedFilter,
        reply: &Arc<Reply>,
    ) -> FilterResult {
        let filter_deadline = Instant::now() + filter.source.time_limit();
        let deadline = call
            .deadline()
            .instant()
            .checked_sub(REPLY_TIME_RESERVE)
            .map_or(filter_deadline, |call_deadline| call_deadline.min(filter_deadline));
        let timed_out = || Fault::new(FaultKind::TimedOut, "the filter exceeded its deadline");
        if deadline <= Instant::now() {
            return Err(timed_out());
        }
        let arguments = Arc::clone(&origin.arguments);
        let context = &call.context;
        let key = FilterKey {
            principal: context.principal().clone(),
            filter: filter.source.id().clone(),
            params: Arc::clone(&filter.params),
            preset: Arc::clone(&context.catalog.preset),
            tool: origin.entry.name.to_string(),
            called: origin.called.clone(),
            content: digest(reply, &arguments).await?,
        };
        let request = FilterRequest {
            context: Arc::new(context.for_filter(origin.meta())),
            tool: Arc::clone(&origin.entry),
            arguments,
            params: Arc::clone(&filter.params),
            reply: Arc::clone(reply),
            deadline: CallDeadline::fixed(deadline),
        };
        let source = Arc::clone(&filter.source);
        let begin = || async move { Ok(source.filter(request).await?.map(Arc::new)) };
        // A caller that joins a run late keeps its own deadline.
        timeout_at(deadline, self.running.run(key, begin)).await.unwrap_or_else(|_| Err(timed_out()))
    }

    fn report(&self, call: &Call, filter: &AttachedFilter, fault: &Fault) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(left_out) = FAILURE_LOG_LIMIT.admit_line() {
            let tool = names::quoted(&call.context.name, 64);
            let reason = names::quoted(&fault.in_one_line(), 300);
            tracing::warn!(
                %tool, failures, left_out,
                "{} failed as a filter, the reply is unchanged: {reason}", filter.source.id()
            );
        }
    }
}

async fn digest(reply: &Arc<Reply>, arguments: &Arc<Value>) -> Result<String, Fault> {
    let (reply, arguments) = (Arc::clone(reply), Arc::clone(arguments));
    let short = reply.bytes() <= MAX_INLINE_HASH_BYTES;
    run_work(short, "cannot hash the reply", move || hash::sha256_json(&(&*reply, &*arguments))).await
}

/// Returns the reply, and its structured data as text, if it has no other content or its text does not repeat the data.
async fn read_data(reply: Reply) -> Result<(Reply, Option<String>), Fault> {
    let Some(data) = &reply.structured else { return Ok((reply, None)) };
    if reply.content.is_empty() {
        let data = data.to_string();
        return Ok((reply, Some(data)));
    }
    if !reply_view::has_server_data(&reply) {
        return Ok((reply, None));
    }
    let short = reply.bytes() + json::encoded_len(data) <= MAX_INLINE_HASH_BYTES;
    let read = move || {
        let data = reply_view::data_apart(&reply);
        (reply, data)
    };
    run_work(short, "cannot read the reply", read).await
}

/// Checks that a filtered reply is not an error, has content, and retains all content that is not text.
fn check_reply(raw: &Reply, new: Arc<Reply>) -> Result<Arc<Reply>, Fault> {
    let invalid = |reason: &str| Err(Fault::internal(format!("it returned a reply that {reason}")));
    if new.is_error {
        return invalid("is an error");
    }
    if new.content.is_empty() {
        return invalid("is empty");
    }
    let mut rest = new.content.iter();
    if !raw
        .content
        .iter()
        .filter(|block| !is_text(block))
        .all(|block| rest.any(|new_block| new_block == block))
    {
        return invalid("lacks non-text content");
    }
    Ok(new)
}

fn is_text(block: &ContentPart) -> bool {
    block.as_text().is_some()
}

#[cfg(test)]
mod tests;
