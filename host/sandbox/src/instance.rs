//! Instances: a store with its limits, the request it serves, and messages that explain traps.
//!
//! Usually each call gets a new one. With reuse, an instance whose call returned serves another.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    CallDeadline, InvalidValue,
    names::quoted,
    outcome::{Fault, FaultKind},
    source::Listing,
};
use tokio::time::Instant;
use wasmtime::{Store, Trap, UpdateDeadline, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use crate::{
    abi::{ContractExports, GatePre, GuestAnswer, GuestError},
    capability::InstanceContext,
    capacity::IdleInstances,
    engine::WasmRuntime,
    folders::GuestFolder,
    gate::DESCRIBE_TIME,
    limits::{HOST_MEMORY, format_bytes, raise_hint},
    output::last_words,
    state::{MAX_HANDLES, State},
    wasi::BudgetExceeded,
};

/// A component that is ready to be instantiated.
pub(crate) struct LoadedComponent {
    pub(crate) runtime: Arc<WasmRuntime>,
    pub(crate) pre: GatePre,
}

pub(crate) struct GateInstance {
    pub(crate) store: Store<State>,
    pub(crate) exports: Box<dyn ContractExports>,
    pub(crate) calls: u32,
}

#[derive(Debug, thiserror::Error)]
#[error("the deadline passed")]
struct DeadlinePassed;

pub(crate) struct CallFailure {
    pub(crate) fault: Fault,
    /// True if the guest trapped or exited, and false for a limit or a fault.
    pub(crate) trapped: bool,
}

impl From<Fault> for CallFailure {
    fn from(fault: Fault) -> Self {
        Self { fault, trapped: false }
    }
}

impl LoadedComponent {
    pub(crate) async fn describe(
        &self,
        facts: InstanceContext,
        deadline: Instant,
    ) -> Result<Listing, CallFailure> {
        let _running = self.runtime.ticker.enter_guest();
        let gate = Arc::clone(&facts.gate);
        let work = async {
            let mut instance = self.instance(facts, &[], CallDeadline::fixed(deadline)).await?;
            let GateInstance { store, exports, .. } = &mut instance;
            let listing = exports.describe(store).await;
            listing.map_err(|error| call_failure(store.data(), error))
        };
        // A sleeping guest never checks the epoch deadline.
        tokio::time::timeout_at(deadline, work).await.unwrap_or_else(|_| Err(slow_to_describe(&gate).into()))
    }

    /// Serves a request, in an idle instance if there is one.
    pub(crate) async fn run<T>(
        &self,
        facts: InstanceContext,
        folders: &[GuestFolder],
        deadline: &CallDeadline,
        request: impl for<'a> FnOnce(&'a dyn ContractExports, &'a mut Store<State>) -> GuestAnswer<'a, T> + Send,
        idle: Option<&IdleInstances>,
    ) -> Result<T, CallFailure> {
        let _running = self.runtime.ticker.enter_guest();
        let back = idle.map(|idle| (idle, facts.without_call()));
        let mut instance = match idle.and_then(IdleInstances::take) {
            Some(mut instance) => {
                instance.begin(facts, deadline.clone());
                instance
            }
            None => self.instance(facts, folders, deadline.clone()).await?,
        };
        instance.calls += 1;
        let GateInstance { store, exports, .. } = &mut instance;
        let answer = request(&**exports, store).await;
        let returned = !matches!(answer, Err(GuestError::Trap(_)));
        let answer = answer.map_err(|error| call_failure(store.data(), error));
        if let Some((idle, facts)) = back.filter(|_| returned) {
            idle.put(instance, facts);
        }
        answer
    }

    pub(crate) async fn instance(
        &self,
        facts: InstanceContext,
        folders: &[GuestFolder],
        deadline: CallDeadline,
    ) -> Result<GateInstance, CallFailure> {
        let copy = facts.limits.copy;
        let mut store = Store::new(&self.runtime.engine, State::new(facts, folders, deadline)?);
        store.limiter(|state| &mut state.caps);
        store.set_hostcall_fuel(copy);
        store.set_max_component_handles(MAX_HANDLES);
        store.set_epoch_deadline(1);
        // Yielding at every tick lets other guests run while this one computes.
        store.epoch_deadline_callback(|store| {
            if store.data().deadline.is_expired() {
                return Err(wasmtime::Error::new(DeadlinePassed));
            }
            Ok(UpdateDeadline::Yield(1))
        });
        match self.pre.instantiate_async(&mut store).await {
            Ok(exports) => Ok(GateInstance { store, exports, calls: 0 }),
            Err(error) => Err(explain(store.data(), &error)),
        }
    }
}

impl GateInstance {
    /// Replaces the state of the previous call.
    pub(crate) fn begin(&mut self, facts: InstanceContext, deadline: CallDeadline) {
        self.store.data_mut().begin(facts, deadline);
        self.store.set_epoch_deadline(1);
    }
}

fn call_failure(state: &State, error: GuestError) -> CallFailure {
    match error {
        GuestError::Trap(error) => explain(state, &error),
        GuestError::Fault(fault) => fault.into(),
        GuestError::Broken(reason) => broken(&state.capabilities.facts().gate, &reason).into(),
    }
}

/// Names the limit or the trap, with the end of the guest's output.
pub(crate) fn explain(state: &State, error: &wasmtime::Error) -> CallFailure {
    let mut trapped = false;
    let facts = state.capabilities.facts();
    let (gate, limits) = (&*facts.gate, &facts.limits);
    let words = last_words(&state.output.text());
    let output_suffix = if words.is_empty() { String::new() } else { format!("; its output: {words}") };
    let raise = |key: &str| raise_hint(gate, key);
    let fault = if error.is::<DeadlinePassed>() {
        match &facts.call {
            Some(call) => {
                // The enclosing call may have left less than the limit.
                let took = call.context.started.elapsed().saturating_sub(call.context.waited());
                let tenths = Duration::from_millis(took.as_millis() as u64 / 100 * 100);
                too_slow(gate, if took >= limits.time { limits.time } else { tenths }).hint(raise("time"))
            }
            None => slow_to_describe(gate),
        }
    } else if error.is::<BudgetExceeded>() {
        let max_memory = format_bytes(HOST_MEMORY as u64);
        let is_limited = facts.memory.bytes.is_some();
        let shared = if is_limited { ", or more than other running calls leave" } else { "" };
        Fault::exhausted(format!("gate '{gate}' used more than {max_memory} of host memory{shared}")).hint(
            "Send or drop pending requests, drop responses, streams and folder listings, and do less in parallel.",
        )
    } else if state.caps.memory_refused {
        let max_memory = format_bytes(limits.memory as u64);
        Fault::exhausted(format!("gate '{gate}' ran out of memory: its limit is {max_memory}{output_suffix}"))
            .hint(raise("memory"))
    } else if state.caps.shared_refused {
        let total_memory = format_bytes(facts.memory.bytes.unwrap_or_default());
        Fault::exhausted(format!(
            "gate '{gate}' got no more memory: all calls of this host share {total_memory}{output_suffix}"
        ))
        .hint("Retry when fewer calls are running, or give the host more memory.")
    } else if state.caps.elements_refused {
        let max_elements = limits.table_elements;
        Fault::exhausted(format!(
            "gate '{gate}' ran out of table elements: its limit is {max_elements}{output_suffix}"
        ))
        .hint(raise("table_elements"))
    } else if let Some(trap) = error.downcast_ref::<Trap>() {
        trapped = true;
        let reason = match words.is_empty() {
            true => format!("{trap}{}", frames(error)),
            false => format!("{words} ({trap})"),
        };
        Fault::internal(format!("gate '{gate}' trapped: {reason}"))
            .hint("This is a bug in the gate; other calls are not affected.")
    } else if let Some(I32Exit(code)) = error.downcast_ref::<I32Exit>() {
        trapped = true;
        let reason = if words.is_empty() { String::new() } else { format!(": {words}") };
        Fault::internal(format!("gate '{gate}' exited with code {code} instead of answering{reason}"))
            .hint("This is a bug in the gate; other calls are not affected.")
    } else if error.to_string().contains("too much data is being copied") {
        // wasmtime has no type for this error. The test of a fixture gate fails if its text changes.
        let max_bytes = format_bytes(limits.copy as u64);
        Fault::exhausted(format!("gate '{gate}' sent more than {max_bytes} in one transfer"))
            .hint(raise("copy"))
    } else {
        let cause = quoted(&error.root_cause().to_string(), 300);
        Fault::internal(format!("gate '{gate}' failed: {}{}", cause.trim_end_matches('.'), frames(error)))
    };
    tracing::warn!(target: "gate", gate, error = %quoted(&format!("{error:#}"), 2_000), output = %words, "call ended by the sandbox");
    CallFailure { fault, trapped }
}

/// Returns the innermost functions of the guest, if the component has names.
fn frames(error: &wasmtime::Error) -> String {
    let frames = error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames).unwrap_or_default();
    let named = frames.iter().filter_map(|frame| frame.func_name()).take(3);
    let names: Vec<String> = named.map(|name| quoted(name, 80)).collect();
    if names.is_empty() { String::new() } else { format!(", in {}", names.join(", called by ")) }
}

fn too_slow(gate: &str, limit: Duration) -> Fault {
    let seconds = limit.as_secs_f32();
    Fault::new(FaultKind::TimedOut, format!("gate '{gate}' was stopped after {seconds} s"))
}

fn slow_to_describe(gate: &str) -> Fault {
    too_slow(gate, DESCRIBE_TIME).hint("This is the time limit for a gate to describe itself.")
}

pub(crate) fn broken(gate: &str, reason: &InvalidValue) -> Fault {
    Fault::internal(format!("gate '{gate}' broke the contract: {}", quoted(&reason.to_string(), 300)))
        .hint("This is a bug in the gate; `gatehouse gates inspect` shows what it declares.")
}
