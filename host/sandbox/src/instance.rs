//! One call, one instance: a fresh store with its limits, the call, and what a trap means in words.

use std::{sync::Arc, time::Instant};

use gatehouse_core::{
    names::quoted,
    outcome::{Fault, FaultKind},
};
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::{
    abi::v0_1::{self, GatePre, Manifest, Reply, ToolCall},
    capability::CallFacts,
    engine::Runtime,
    limits::Limits,
    state::{MAX_HANDLES, State},
};

/// A component, ready to be instantiated.
pub(crate) struct Ready {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) pre: GatePre<State>,
}

/// The guest used up its time.
#[derive(Debug, thiserror::Error)]
#[error("the deadline passed")]
struct DeadlinePassed;

impl Ready {
    /// Runs `describe`.
    pub(crate) async fn describe(
        &self,
        facts: CallFacts,
        limits: &Limits,
        deadline: Instant,
        params: &str,
    ) -> Result<Manifest, Fault> {
        let _running = self.runtime.ticker.running();
        let gate = Arc::clone(&facts.gate);
        let mut store = self.store(facts, limits, deadline);
        let answer = match self.pre.instantiate_async(&mut store).await {
            Ok(instance) => {
                instance.gatehouse_gate_tools().call_describe(&mut store, &params.to_owned()).await
            }
            Err(error) => Err(error),
        };
        answer.map_err(|error| explain(&gate, limits, &store, &error))?.map_err(Into::into)
    }

    /// Runs one tool.
    pub(crate) async fn call(
        &self,
        facts: CallFacts,
        limits: &Limits,
        deadline: Instant,
        call: &ToolCall,
    ) -> Result<Reply, Fault> {
        let _running = self.runtime.ticker.running();
        let gate = Arc::clone(&facts.gate);
        let mut store = self.store(facts, limits, deadline);
        let answer = match self.pre.instantiate_async(&mut store).await {
            Ok(instance) => instance.gatehouse_gate_tools().call_call(&mut store, call).await,
            Err(error) => Err(error),
        };
        answer.map_err(|error| explain(&gate, limits, &store, &error))?.map_err(Into::into)
    }

    pub(crate) fn store(&self, facts: CallFacts, limits: &Limits, deadline: Instant) -> Store<State> {
        let mut store = Store::new(&self.runtime.engine, State::new(facts, limits));
        store.limiter(|state| &mut state.caps);
        store.set_hostcall_fuel(limits.copy);
        store.set_max_component_handles(MAX_HANDLES);
        store.set_epoch_deadline(1);
        // Yielding at every tick keeps a busy guest from starving its neighbours until its time is up.
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= deadline {
                return Err(wasmtime::Error::new(DeadlinePassed));
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }
}

/// What ended the guest, in words that name the limit or the trap, with the guest's last words.
pub(crate) fn explain(gate: &str, limits: &Limits, store: &Store<State>, error: &wasmtime::Error) -> Fault {
    let state = store.data();
    let words = state.last_words();
    let said = if words.is_empty() { String::new() } else { format!(" It said: {words}") };
    let fault = if error.is::<DeadlinePassed>() {
        let seconds = limits.time.as_secs_f32();
        Fault::new(FaultKind::TimedOut, format!("Gate '{gate}' was stopped after {seconds} s."))
            .hint(format!("Ask for less at once, or raise limits.time under [gates.{gate}] in presets.toml."))
    } else if state.caps.memory_refused {
        let mib = limits.memory >> 20;
        Fault::exhausted(format!("Gate '{gate}' ran out of memory: its limit is {mib} MiB.{said}")).hint(
            format!("Ask for less at once, or raise limits.memory under [gates.{gate}] in presets.toml."),
        )
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        Fault::internal(format!("Gate '{gate}' trapped: {trap}.{said}"))
            .hint("This is a bug in the gate; other calls are not affected.")
    } else if error.to_string().contains("too much data is being copied") {
        // wasmtime has no type for this error; a fixture gate's test fails when its words change.
        let mib = limits.copy >> 20;
        Fault::exhausted(format!("Gate '{gate}' sent more than {mib} MiB at once."))
            .hint("Ask for less at once.")
    } else {
        Fault::internal(format!("Gate '{gate}' failed: {}", quoted(&format!("{error:#}"), 300)))
    };
    tracing::warn!(target: "gate", gate, error = %quoted(&format!("{error:#}"), 2_000), output = %words, "call ended by the sandbox");
    fault
}

/// The manifest or reply of a gate that does not hold to the contract.
pub(crate) fn broken(gate: &str, why: &str) -> Fault {
    Fault::internal(format!("Gate '{gate}' broke the contract: {}.", quoted(why, 300)))
        .hint("This is a bug in the gate; `gatehouse gates inspect` shows what it declares.")
}

/// A reply in core's types.
pub(crate) fn reply(gate: &str, reply: Reply) -> Result<gatehouse_core::Reply, Fault> {
    v0_1::reply(reply).map_err(|why| broken(gate, &why))
}
