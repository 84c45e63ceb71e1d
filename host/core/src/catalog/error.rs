//! Errors of building a catalog.

use crate::tool::NameError;

/// An error of building a catalog. The texts are for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    #[error("tool name collision: '{name}' in both '{first}' and '{second}' gates.{mend}")]
    Collision {
        name: String,
        first: String,
        second: String,
        /// A hint that begins with a space: ` To keep both, …`.
        mend: String,
    },
    #[error("{source_id}: tool name {why}")]
    BadName { source_id: String, why: NameError },
    #[error("prompt name collision: '{name}' in both {first} and {second}")]
    PromptCollision { name: String, first: String, second: String },
    /// Two sources provide resources whose URIs may be the same.
    #[error("resource collision: {first} and {second}, which may be the same URI")]
    AddressCollision { first: String, second: String },
    /// A preset uses a gate without `filter` as a filter.
    #[error("preset '{preset}': filters name gate '{gate}', which does not filter replies")]
    BadFilter { preset: String, gate: String },
    /// A workflow that can never complete.
    #[error("preset '{preset}': {why}")]
    BadWorkflow { preset: String, why: String },
    /// An alias that refers to no tool, or is not a valid name.
    #[error("preset '{preset}': alias '{alias}' {why}")]
    BadAlias { preset: String, alias: String, why: String },
}
