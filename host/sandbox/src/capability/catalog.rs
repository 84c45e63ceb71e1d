//! Calls of other tools: what a gate calls passes the same pipeline as what a client calls, and may do no more than the
//! calling tool promised. There are only so many of them in a call.

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
use crate::limits::{raise_hint, take_one};

/// Calls of one batch that run at the same time; the places for nested calls are for other gates too.
const MAX_CONCURRENT_CALLS: usize = 8;

/// A tool that a gate calls, after the check of its grant.
pub(super) enum CallTarget<'a> {
    /// One of the catalog, by the name that the client sees.
    Named(&'a str),
    /// One of a server that the client is not shown.
    Proxied(Arc<ToolEntry>),
    /// The same over a connection of its own.
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
    /// The caller's tools, through the grant.
    pub(crate) fn catalog(&self) -> Result<&RunningCall, Fault> {
        Ok(self.granted(Capability::Catalog, AccessLevel::Full)?.call)
    }

    /// Calls a tool; the arguments are JSON.
    pub(crate) async fn call_tool(&self, tool: &str, arguments: &str, limit: Option<Duration>) -> Outcome {
        self.catalog()?;
        Ok(self.call_with_reservation(CallTarget::Named(tool), arguments, limit).await?.0)
    }

    /// Calls tools, some at a time; the outcomes are in the order of the calls.
    pub(crate) async fn call_tools(&self, calls: Vec<(String, String)>) -> Vec<Outcome> {
        let (count, limit) = (calls.len(), self.facts.limits.calls);
        if count > limit as usize {
            let why = format!("{count} calls at once are too many, the most is {limit}.");
            let fault = || Err(Fault::exhausted(why.clone()).hint("Make them in parts."));
            return calls.iter().map(|_| fault()).collect();
        }
        let outcomes = stream::iter(calls)
            .map(|(tool, arguments)| async move {
                self.catalog()?;
                self.call_with_reservation(CallTarget::Named(&tool), &arguments, None).await
            })
            .buffered(MAX_CONCURRENT_CALLS);
        // Let go of when the last one is there: until then each is held.
        let outcomes: Vec<_> = outcomes.collect().await;
        outcomes.into_iter().map(|outcome| Ok(outcome?.0)).collect()
    }

    /// Calls a tool, for at most so long. What the reply takes is held for as long as it comes with the reply.
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
        if !take_one(&self.calls_left) {
            let (gate, limit) = (&self.facts.gate, self.facts.limits.calls);
            let message = format!("Gate '{gate}' called {limit} tools in one call, which is the most.");
            return Err(Fault::exhausted(message).hint(raise_hint(gate, "calls")));
        }
        // The arguments are held until the call is over.
        let mut reader = json::JsonReader::new(&self.budget);
        let arguments = reader
            .parse(arguments)
            .map_err(|why| Fault::invalid(format!("the arguments of '{tool}' {why}")))?;
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
            let message = format!("The reply of '{tool}' is too large beside what this call holds.");
            return Err(Fault::exhausted(message).hint("Ask for less at once."));
        }
        Ok((reply, held))
    }
}

/// Bytes of what a reply consists of.
fn bytes(reply: &Reply) -> usize {
    let others = reply.content.iter().map(|block| match block {
        ContentPart::Other(object) => json::encoded_len(object),
        _ => 0,
    });
    reply.bytes() + others.sum::<usize>() + reply.structured.as_ref().map_or(0, json::encoded_len)
}
