//! Domain types of Gatehouse, its ports, and the pipeline that every tool call passes through.
//!
//! This crate depends on no engine, wire format, sandbox or clock. [`ports`] declares these as traits, and [`pipeline`]
//! decides whether a call may run.

mod alias;
pub mod approval;
pub mod budget;
pub mod call;
pub mod call_time;
pub mod capability;
pub mod catalog;
pub mod check_threads;
pub mod completion;
pub mod definition;
pub mod effect;
pub mod envelope;
mod failure_text;
pub mod fair_semaphore;
pub mod fallback;
pub mod filters;
pub mod forwarding;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod gather;
pub mod hash;
pub mod hidden_chars;
pub mod http;
pub mod icon;
pub mod isolation;
pub mod json;
pub mod ledger_observer;
mod lock;
pub mod log_limit;
pub mod names;
pub mod nesting;
pub mod outcome;
pub mod overrides;
pub mod page;
pub mod patterns;
pub mod pipeline;
pub mod ports;
pub mod preset;
pub mod prompt;
pub mod question;
pub mod resource;
mod resource_requests;
pub mod resources_and_prompts;
pub mod schema;
pub mod search;
pub mod server_tools;
pub mod signature;
pub mod single_flight;
pub mod source;
#[cfg(test)]
mod testing;
pub mod tool;
pub mod tool_policy;
pub mod workflow;

pub use call::{Call, CallContext, Principal};
pub use call_time::CallDeadline;
pub use catalog::{Catalog, CatalogGeneration};
pub use effect::{Effect, Intent};
pub use lock::lock;
pub use log_limit::LogLimit;
pub use outcome::{ContentPart, Fault, FaultKind, Outcome, Reply};
pub use pipeline::Pipeline;
pub use preset::{CompiledPreset, Preset};
pub use source::Source;
pub use tool::{ExposedName, SourceId, ToolId, ToolSpec};
