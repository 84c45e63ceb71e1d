//! Rules about calls and gates: presets, and what they allow, change or require.

pub mod access;
pub mod approval;
pub mod caller_patterns;
pub mod capability;
pub mod effect_rule;
pub mod fallback;
pub mod filters;
pub mod isolation;
pub mod overrides;
pub mod patterns;
pub mod preset;
pub mod quota;
pub mod quota_meter;
pub mod surface;
pub mod tool_policy;
pub mod workflow;
