//! Domain types of Gatehouse, its ports, and the pipeline that every tool call passes through.
//!
//! This crate depends on no engine, wire format, sandbox or clock. [`ports`] declares these as traits, and [`pipeline`]
//! decides whether a call may run.

pub mod call;
pub mod catalog;
mod definitions;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod http;
pub mod page;
pub mod pipeline;
mod policy;
pub mod ports;
pub mod question;
pub mod reply_view;
pub mod schema;
pub mod search;
pub mod source;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
mod util;

pub use call::{
    Call, CallContext, Caller, Principal, RequestOrigin,
    call_time::{self, CallDeadline},
    envelope, forwarding, gate_turn, ledger_observer, nesting,
    outcome::{self, ContentPart, Fault, FaultKind, Outcome, Reply},
};
pub use catalog::{Catalog, CatalogGeneration, ToolEntry, resources_and_prompts};
pub use definitions::{
    completion, conversion, definition,
    effect::{self, Effect, Intent},
    hidden_chars, icon, prompt, resource, signature, skill,
    tool::{self, ExposedName, SourceId, ToolId, ToolSpec},
};
pub use pipeline::Pipeline;
pub use policy::{
    access, approval, caller_patterns, capability, effect_rule, fallback, filters, isolation, overrides,
    patterns,
    preset::{self, CompiledPreset, Preset},
    quota, quota_meter, surface, tool_policy, workflow,
};
pub use schema::Schema;
pub use source::{Listing, Source, gather, server_tools};
pub use util::{
    budget, check_threads, fair_semaphore, hash,
    invalid::{self, InvalidValue},
    json, lock,
    log_limit::{self, LogLimit},
    names, single_flight, surrogates, utc_time,
};
