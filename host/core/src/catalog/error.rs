//! Why a catalog cannot be built.

use crate::tool::NameError;

/// Why a catalog cannot be built. The texts are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogError {
    /// Two tools would have one name.
    #[error("Tool name collision: '{name}' in both '{first}' and '{second}' gates.{mend}")]
    Collision {
        /// The name.
        name: String,
        /// Who has it first.
        first: String,
        /// Who has it too.
        second: String,
        /// ` To keep both, …`: what to write into presets.toml.
        mend: String,
    },
    /// A tool's name is not one that clients accept.
    #[error("{source_id}: tool name {why}")]
    BadName {
        /// Whose tool.
        source_id: String,
        /// What is wrong.
        why: NameError,
    },
    /// Two prompts would have one name.
    #[error("Prompt name collision: '{name}' in both {first} and {second}.")]
    PromptCollision {
        /// The name.
        name: String,
        /// Who has it first.
        first: String,
        /// Who has it too.
        second: String,
    },
    /// Two sources would answer for one address.
    #[error("Resource collision: {first} and {second}, which may be the same address.")]
    AddressCollision {
        /// Who answers for it first, with its template.
        first: String,
        /// Who answers for it too, with its template.
        second: String,
    },
    /// A preset attaches a gate that cannot change replies.
    #[error("preset '{preset}': filters name gate '{gate}', which does not filter replies")]
    BadFilter {
        /// The preset.
        preset: String,
        /// The gate.
        gate: String,
    },
    /// A workflow can never be done.
    #[error("preset '{preset}': {why}")]
    BadWorkflow {
        /// The preset.
        preset: String,
        /// What is wrong.
        why: String,
    },
    /// An alias points nowhere, or is no name.
    #[error("preset '{preset}': alias '{alias}' {why}")]
    BadAlias {
        /// The preset.
        preset: String,
        /// The alias.
        alias: String,
        /// What is wrong.
        why: String,
    },
}
