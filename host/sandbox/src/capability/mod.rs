//! Capabilities of gates, in core's types. [`Capabilities::granted`] checks every access that needs a grant, from here
//! or from `abi`.

mod artifacts;
mod catalog;
pub(crate) mod client;
pub(crate) mod http;
mod kv;
pub(crate) mod models;
pub(crate) mod servers;
mod servers_admin;

use std::{
    fmt,
    ops::Deref,
    sync::{Arc, atomic::AtomicU32},
};

use gatehouse_core::{
    CallContext, CallDeadline, Principal,
    budget::ByteBudget,
    capability::{AccessLevel, Capability, Grants},
    http::HttpRules,
    outcome::Fault,
};

use serde_json::{Map, Value};

pub(crate) use self::kv::KvScope;
pub use self::kv::caller_key_prefix;
use crate::{Ports, capacity::SharedMemory, limits::SandboxLimits, wasi::FileThreads};

/// Gate and settings of its instances.
pub(crate) struct GateFacts {
    pub(crate) gate: Arc<str>,
    pub(crate) grants: Grants,
    pub(crate) ports: Ports,
    pub(crate) http: Arc<HttpRules>,
    pub(crate) limits: SandboxLimits,
    pub(crate) memory: SharedMemory,
    pub(crate) threads: Arc<FileThreads>,
}

/// Gate, parameters and call of an instance.
#[derive(Clone)]
pub(crate) struct InstanceContext {
    facts: Arc<GateFacts>,
    pub(crate) params: Arc<str>,
    /// `None` while a gate describes itself or converts a file, when it has no client, catalog or engines.
    pub(crate) call: Option<RunningCall>,
}

impl Deref for InstanceContext {
    type Target = GateFacts;

    fn deref(&self) -> &GateFacts {
        &self.facts
    }
}

impl InstanceContext {
    pub(crate) fn new(facts: &Arc<GateFacts>, params: Arc<str>, call: Option<RunningCall>) -> Self {
        Self { facts: Arc::clone(facts), params, call }
    }

    pub(crate) fn without_call(&self) -> Self {
        Self { params: "{}".into(), call: None, ..self.clone() }
    }
}

/// One attempt of a call.
#[derive(Clone)]
pub(crate) struct RunningCall {
    pub(crate) context: Arc<CallContext>,
    pub(crate) deadline: CallDeadline,
}

/// All capabilities, with the remaining quotas of the call.
pub(crate) struct Capabilities {
    facts: InstanceContext,
    calls_left: AtomicU32,
    context: client::OutputQuota,
    model_requests_left: AtomicU32,
    /// Shared with `wasi:http`.
    pub(crate) http: Arc<http::RequestSender>,
    pub(crate) budget: ByteBudget,
}

/// Proof that a running gate has a grant.
#[derive(Clone, Copy)]
pub(crate) struct GrantedAccess<'a> {
    pub(crate) facts: &'a InstanceContext,
    pub(crate) call: &'a RunningCall,
}

impl Capabilities {
    pub(crate) fn new(facts: InstanceContext, budget: &ByteBudget) -> Self {
        Self {
            calls_left: AtomicU32::new(facts.limits.calls),
            context: client::OutputQuota::new(&facts),
            model_requests_left: AtomicU32::new(facts.limits.model_calls),
            http: http::RequestSender::new(&facts, budget),
            budget: budget.clone(),
            facts,
        }
    }

    /// Returns the principal of the call, or the local user while a gate describes itself.
    pub(super) fn principal(&self) -> &Principal {
        self.facts.call.as_ref().map_or(&Principal::Local, |call| call.context.principal())
    }

    pub(crate) fn facts(&self) -> &InstanceContext {
        &self.facts
    }

    /// Checks a grant. Fails for a gate that describes itself or converts a file.
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

/// Returns the JSON object that was parsed. `what` names it in errors.
pub(crate) fn object(
    what: &str,
    parsed: Result<Value, impl fmt::Display>,
) -> Result<Map<String, Value>, String> {
    match parsed {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("{what} is not a JSON object")),
        Err(reason) => Err(format!("{what} {reason}")),
    }
}

fn describing(capability: Capability) -> Fault {
    Fault::denied(format!(
        "a gate has no access to {capability} while it describes itself or converts a file"
    ))
}
