//! A call that is made to judge the gate. It says what a client never learns: whether the gate answered, or
//! was ended, and how much memory it took.

use std::time::Instant;

use gatehouse_core::{Reply, outcome::Fault};

use crate::{
    abi::v0_1::ToolCall,
    gate::Gate,
    instance::{self, explain},
};

/// How a trial ended.
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
pub struct Trial {
    /// How it ended.
    pub end: End,
    /// Bytes of linear memory it had at its end.
    pub memory: usize,
}

impl Gate {
    /// Calls a tool, known to the gate or not, without a client and so without any engine. The arguments
    /// are not checked.
    pub async fn try_out(&self, tool: &str, arguments: &str, params: &str) -> Trial {
        let ended = |fault| Trial { end: End::Ended(fault), memory: 0 };
        let ready = match self.ready().await {
            Ok(ready) => ready,
            Err(fault) => return ended(fault),
        };
        let (limits, deadline) = (self.limits(), Instant::now() + self.limits().time);
        let request = ToolCall {
            id: "call-0".into(),
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
            params: params.to_owned(),
            caller: None,
            preset: "check".into(),
            deadline_ms: limits.time.as_millis() as u64,
        };
        let _running = ready.runtime.ticker.running();
        let mut store = ready.store(self.facts(params.into(), None), limits, deadline);
        let answer = match ready.pre.instantiate_async(&mut store).await {
            Ok(instance) => instance.gatehouse_gate_tools().call_call(&mut store, &request).await,
            Err(error) => Err(error),
        };
        let name = &self.info().name;
        let end = match answer {
            Ok(Ok(reply)) => match instance::reply(name, reply) {
                Ok(reply) => End::Replied(reply),
                Err(fault) => End::Ended(fault),
            },
            Ok(Err(fault)) => End::Faulted(fault.into()),
            Err(error) => End::Ended(explain(name, limits, &store, &error)),
        };
        Trial { end, memory: limits.memory.saturating_sub(store.data().caps.memory_left()) }
    }
}
