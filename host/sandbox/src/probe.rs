//! A call that is made to judge the gate. It says what a client never learns: whether the gate answered, or
//! was ended, and how much memory it took.

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

/// How a probe ended.
#[derive(Debug)]
pub enum ProbeOutcome {
    /// The tool replied.
    Replied(Reply),
    /// The gate said, in its own words, why it could not.
    Faulted(Fault),
    /// The gate did not answer: it trapped, ran into a limit, or broke the contract.
    Failed(Fault),
}

/// One call and what became of it.
#[derive(Debug)]
pub struct ProbeReport {
    /// How it ended.
    pub outcome: ProbeOutcome,
    /// Bytes of linear memory it had at its end.
    pub memory: usize,
}

impl Gate {
    /// Calls a tool, known to the gate or not, without a client and so without any engine. The arguments
    /// are not checked.
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
        let slow =
            || Fault::new(FaultKind::TimedOut, format!("'{tool}' took longer than {:?}.", limits.time));
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
