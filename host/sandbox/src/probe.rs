//! A call that is made to judge the gate. It says what a client never learns: whether the gate answered, or
//! was ended, and how much memory it took.

use std::time::Instant;

use gatehouse_core::{
    Reply,
    outcome::{Fault, FaultKind},
};

use crate::{
    abi::v0_1::ToolCall,
    gate::Gate,
    instance::{self, Instance, explain},
};

/// How a probe ended.
#[derive(Debug)]
pub enum End {
    /// The tool replied.
    Replied(Reply),
    /// The gate said, in its own words, why it could not.
    Faulted(Fault),
    /// The gate did not answer: it trapped, ran into a limit, or broke the contract.
    Ended(Fault),
}

/// One call and what became of it.
#[derive(Debug)]
pub struct Probe {
    /// How it ended.
    pub end: End,
    /// Bytes of linear memory it had at its end.
    pub memory: usize,
}

impl Gate {
    /// Calls a tool, known to the gate or not, without a client and so without any engine. The arguments
    /// are not checked.
    pub async fn try_out(&self, tool: &str, arguments: &str, params: &str) -> Probe {
        let ended = |fault| Probe { end: End::Ended(fault), memory: 0 };
        let ready = match self.ready().await {
            Ok(ready) => ready,
            Err(fault) => return ended(fault),
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
        };
        let (name, deadline) = (&self.info().name, Instant::now() + limits.time);
        let _running = ready.runtime.ticker.running();
        let mut instance = match ready.instance(self.facts(params.into(), None), &[], deadline).await {
            Ok(instance) => instance,
            Err(end) => return ended(end.fault),
        };
        let Instance { store, exports, .. } = &mut instance;
        let call = exports.gatehouse_gate_tools().call_call(&mut *store, &request);
        let slow =
            || Fault::new(FaultKind::TimedOut, format!("'{tool}' took longer than {:?}.", limits.time));
        let end = match tokio::time::timeout_at(deadline.into(), call).await {
            Ok(Ok(Ok(reply))) => match instance::reply(name, reply, &store.data().budget) {
                Ok(reply) => End::Replied(reply),
                Err(fault) => End::Ended(fault),
            },
            Ok(Ok(Err(fault))) => End::Faulted(fault.into()),
            Ok(Err(error)) => match explain(store.data(), &error).fault {
                fault if fault.kind == FaultKind::TimedOut => End::Ended(slow()),
                fault => End::Ended(fault),
            },
            Err(_) => End::Ended(slow()),
        };
        Probe { end, memory: store.data().caps.memory_used() }
    }
}
