//! Gatehouse's nouns, its ports, and the straight line that every tool call takes.
//!
//! This crate knows no engine, no wire format, no sandbox and no clock. What it needs from outside
//! stands in [`ports`] as traits; what may call a tool goes through [`pipeline`].

mod alias;
pub mod approval;
mod ask;
pub mod budget;
pub mod call;
pub mod call_time;
pub mod capability;
pub mod catalog;
pub mod checks;
pub mod clean;
pub mod completion;
pub mod definition;
pub mod effect;
pub mod envelope;
mod failure_text;
pub mod fair;
pub mod fallback;
pub mod filters;
pub mod forwarding;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod gather;
pub mod hash;
pub mod http;
pub mod icon;
pub mod isolation;
pub mod json;
mod lock;
pub mod log_limit;
pub mod names;
pub mod nesting;
pub mod offered;
pub mod outcome;
pub mod overrides;
pub mod page;
pub mod patterns;
pub mod pipeline;
pub mod ports;
pub mod preset;
pub mod prompt;
pub mod proxied;
pub mod question;
pub mod record;
pub mod resource;
pub mod schema;
pub mod search;
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
