//! Errors of presets.

/// An error in a preset. The texts are for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    #[error("unknown preset '{name}'.{known}")]
    Unknown {
        name: String,
        /// Begins with a space: ` Did you mean …? There are: …`.
        known: String,
    },
    #[error("preset '{preset}' extends '{name}', which does not exist.{known}")]
    UnknownBase { preset: String, name: String, known: String },
    #[error("presets extend each other in a cycle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    #[error("preset '{preset}': filters name gate '{gate}', which is not a gate of the preset")]
    UnknownFilter { preset: String, gate: String },
    #[error("preset '{preset}': {list} entry '{glob}' is not a valid glob: {why}")]
    BadGlob { preset: String, list: String, glob: String, why: String },
}
