//! Test calls that report more than a client sees: failures of the gate and its memory use.

use gatehouse_core::{
    CallDeadline, Reply,
    outcome::{Fault, FaultKind},
};
use tokio::time::Instant;

use crate::{
    abi::{GuestError, ToolCall},
    gate::Gate,
    instance::{GateInstance, broken, explain},
};

#[derive(Debug)]
pub enum ProbeOutcome {
    Replied(Reply),
    Faulted(Fault),
    /// The gate trapped, reached a limit or violated the contract.
    Failed(Fault),
}

#[derive(Debug)]
pub struct ProbeReport {
    pub outcome: ProbeOutcome,
    /// Bytes of linear memory at the end.
    pub memory: usize,
}

impl Gate {
    /// Calls a tool without a client or engines. Neither the tool's name nor the arguments are validated.
    pub async fn try_out(&self, tool: &str, arguments: &str, params: &str) -> ProbeReport {
        let failed = |fault| ProbeReport { outcome: ProbeOutcome::Failed(fault), memory: 0 };
        let ready = match self.component().await {
            Ok(ready) => ready,
            Err(fault) => return failed(fault),
        };
        let limits = self.limits();
        let request = ToolCall {
            id: "call-0".into(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            params: params.to_owned(),
            caller: None,
            preset: "check".into(),
            deadline_ms: limits.time.as_millis() as u64,
            meta: None,
        };
        let (name, deadline) = (&self.info().name, Instant::now() + limits.time);
        let _running = ready.runtime.ticker.enter_guest();
        let facts = self.facts(params.into(), None);
        let mut instance = match ready.instance(facts, &[], CallDeadline::fixed(deadline)).await {
            Ok(instance) => instance,
            Err(failure) => return failed(failure.fault),
        };
        let GateInstance { store, exports, .. } = &mut instance;
        let call = exports.call(store, request);
        let slow = || Fault::new(FaultKind::TimedOut, format!("'{tool}' took longer than {:?}", limits.time));
        let outcome = match tokio::time::timeout_at(deadline, call).await {
            Ok(Ok(reply)) => ProbeOutcome::Replied(reply),
            Ok(Err(GuestError::Fault(fault))) => ProbeOutcome::Faulted(fault),
            Ok(Err(GuestError::Broken(why))) => ProbeOutcome::Failed(broken(name, &why)),
            Ok(Err(GuestError::Trap(error))) => match explain(store.data(), &error).fault {
                fault if fault.kind == FaultKind::TimedOut => ProbeOutcome::Failed(slow()),
                fault => ProbeOutcome::Failed(fault),
            },
            Err(_) => ProbeOutcome::Failed(slow()),
        };
        ProbeReport { outcome, memory: store.data().caps.memory_used() }
    }
}
