//! Calls of other tools. They pass the same pipeline as a client's calls, and must not exceed the effect of the calling
//! tool.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    budget::ByteReservation,
    capability::{AccessLevel, Capability},
    catalog::ToolEntry,
    json,
    outcome::{ContentPart, Fault, Outcome, Reply},
};

use super::{Capabilities, RunningCall, describing};
use crate::limits::{refused_batch, take_one};

/// Concurrent calls of one batch. The slots for nested calls are shared with other gates.
const MAX_CONCURRENT_CALLS: usize = 8;

pub(super) enum CallTarget<'a> {
    /// Name in the catalog, as the client sees it.
    Named(&'a str),
    /// Tool of a server that the client is not shown.
    Proxied(Arc<ToolEntry>),
    /// Tool of a server, over a separate connection.
    Isolated(Arc<ToolEntry>),
}

impl CallTarget<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Proxied(entry) | Self::Isolated(entry) => &entry.id.name,
        }
    }
}

impl Capabilities {
    pub(crate) fn catalog(&self) -> Result<&RunningCall, Fault> {
        Ok(self.granted(Capability::Catalog, AccessLevel::Full)?.call)
    }

    /// Calls a tool; `arguments` is JSON.
    pub(crate) async fn call_tool(&self, tool: &str, arguments: &str, limit: Option<Duration>) -> Outcome {
        self.catalog()?;
        Ok(self.call_with_reservation(CallTarget::Named(tool), arguments, limit).await?.0)
    }

    /// Calls tools concurrently. Outcomes are in the order of `calls`.
    pub(crate) async fn call_tools(&self, calls: Vec<(String, String)>) -> Vec<Outcome> {
        if let Some(refused) = refused_batch(calls.len(), "calls", self.facts.limits.calls as usize) {
            return refused;
        }
        let outcomes = stream::iter(calls)
            .map(|(tool, arguments)| async move {
                self.catalog()?;
                self.call_with_reservation(CallTarget::Named(&tool), &arguments, None).await
            })
            .buffered(MAX_CONCURRENT_CALLS);
        // Reservations are released only after all calls have finished.
        let outcomes: Vec<_> = outcomes.collect().await;
        outcomes.into_iter().map(|outcome| Ok(outcome?.0)).collect()
    }

    /// Calls a tool, for at most `limit`. Hold the reservation as long as the reply.
    pub(super) async fn call_with_reservation(
        &self,
        callee: CallTarget<'_>,
        arguments: &str,
        limit: Option<Duration>,
    ) -> Result<(Reply, ByteReservation), Fault> {
        let Some(running) = &self.facts.call else {
            return Err(describing(Capability::Catalog));
        };
        let tool = callee.name();
        take_one(&self.calls_left, &self.facts.gate, self.facts.limits.calls, "tool calls", "calls")?;
        let mut reader = json::JsonReader::new(&self.budget);
        let arguments = reader
            .parse(arguments)
            .map_err(|reason| Fault::invalid(format!("the arguments of '{tool}' {reason}")))?;
        let deadline = limit.map_or_else(|| running.deadline.clone(), |limit| running.deadline.within(limit));
        let reply = match &callee {
            CallTarget::Named(name) => running.context.call_nested(&deadline, name, arguments).await?,
            CallTarget::Proxied(entry) => {
                running.context.call_server_tool(&deadline, Arc::clone(entry), arguments, false).await?
            }
            CallTarget::Isolated(entry) => {
                running.context.call_server_tool(&deadline, Arc::clone(entry), arguments, true).await?
            }
        };
        let mut held = self.budget.reserve();
        if !held.take(bytes(&reply)) {
            let message = format!("the reply of '{tool}' exceeds the memory budget of this call");
            return Err(Fault::exhausted(message).hint("Request less data per call."));
        }
        Ok((reply, held))
    }
}

fn bytes(reply: &Reply) -> usize {
    let other_bytes = reply.content.iter().map(|block| match block {
        ContentPart::Other(object) => json::encoded_len(object),
        _ => 0,
    });
    reply.bytes() + other_bytes.sum::<usize>() + reply.structured.as_ref().map_or(0, json::encoded_len)
}
