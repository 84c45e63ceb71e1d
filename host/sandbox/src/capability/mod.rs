//! What gates can reach, in core's types: a file for each capability that has rules of its own. Whatever is not
//! always granted begins with [`Capabilities::granted`], the one check; the functions of each contract version
//! in `abi` do.

mod artifacts;
mod catalog;
pub(crate) mod client;
mod context;
pub(crate) mod http;
mod kv;
mod models;
pub(crate) mod servers;
mod servers_admin;
mod text;

use std::sync::{Arc, atomic::AtomicU32};

use gatehouse_core::{
    CallContext, CallDeadline,
    budget::ByteBudget,
    capability::{AccessLevel, Capability, Grants},
    http::HttpRules,
    outcome::Fault,
};

pub(crate) use self::kv::KvScope;
use crate::{Ports, capacity::SharedMemory, limits::SandboxLimits, wasi::threads::FileThreads};

/// What an instance works with: its gate, and the call if there is one.
pub(crate) struct InstanceContext {
    pub(crate) gate: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) ports: Ports,
    pub(crate) params: Arc<str>,
    pub(crate) http: Arc<HttpRules>,
    pub(crate) limits: SandboxLimits,
    /// What all instances may take together.
    pub(crate) memory: SharedMemory,
    /// Where the blocking work of its files goes.
    pub(crate) threads: Arc<FileThreads>,
    /// None while a gate describes itself: then it has neither client nor catalog nor engines.
    pub(crate) call: Option<RunningCall>,
}

impl InstanceContext {
    /// The same gate while it serves nobody.
    pub(crate) fn without_call(&self) -> Self {
        Self {
            gate: Arc::clone(&self.gate),
            grants: Arc::clone(&self.grants),
            ports: self.ports.clone(),
            params: "{}".into(),
            http: Arc::clone(&self.http),
            limits: self.limits.clone(),
            memory: self.memory.clone(),
            threads: Arc::clone(&self.threads),
            call: None,
        }
    }
}

/// The attempt at a call that an instance works for.
#[derive(Clone)]
pub(crate) struct RunningCall {
    pub(crate) context: Arc<CallContext>,
    pub(crate) deadline: CallDeadline,
}

/// Every capability a gate can have: what the instance works with, and what the call has used up.
pub(crate) struct Capabilities {
    facts: InstanceContext,
    /// How many tools the call may still call.
    calls_left: AtomicU32,
    context: context::OutputQuota,
    /// How often the call may still ask models.
    model_requests_left: AtomicU32,
    /// Shared with `wasi:http`.
    pub(crate) http: Arc<http::RequestSender>,
    /// What they have the host hold comes out of it.
    pub(crate) budget: ByteBudget,
}

/// A gate at work for a client, which was granted what it is about to do.
#[derive(Clone, Copy)]
pub(crate) struct GrantedAccess<'a> {
    pub(crate) facts: &'a InstanceContext,
    pub(crate) call: &'a RunningCall,
}

impl Capabilities {
    pub(crate) fn new(facts: InstanceContext, budget: &ByteBudget) -> Self {
        Self {
            calls_left: AtomicU32::new(facts.limits.calls),
            context: context::OutputQuota::new(&facts),
            model_requests_left: AtomicU32::new(facts.limits.model_calls),
            http: http::RequestSender::new(&facts, budget),
            budget: budget.clone(),
            facts,
        }
    }

    /// What the instance works with.
    pub(crate) fn facts(&self) -> &InstanceContext {
        &self.facts
    }

    /// The one way to what presets.toml grants; a gate that describes itself has none of it.
    pub(crate) fn granted(
        &self,
        capability: Capability,
        access: AccessLevel,
    ) -> Result<GrantedAccess<'_>, Fault> {
        let facts = &self.facts;
        facts.grants.require(&facts.gate, capability, access)?;
        let call = facts.call.as_ref().ok_or_else(|| describing(capability))?;
        Ok(GrantedAccess { facts, call })
    }
}

fn describing(capability: Capability) -> Fault {
    Fault::denied(format!("A gate that describes itself has no access to {capability}."))
}
