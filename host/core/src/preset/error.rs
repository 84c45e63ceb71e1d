//! Why a preset cannot be used.

/// Why a preset cannot be used. The texts are for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    /// There is no such preset.
    #[error("Unknown preset '{name}'.{known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// ` Did you mean …? There are: …`, all names sorted.
        known: String,
    },
    /// A preset extends one that does not exist.
    #[error("preset '{preset}' extends '{name}', which does not exist.{known}")]
    UnknownBase {
        /// The preset that says so.
        preset: String,
        /// What it names.
        name: String,
        /// ` Did you mean …? There are: …`, all names sorted.
        known: String,
    },
    /// Presets extend each other in a circle.
    #[error("presets extend each other in a circle: {}", .0.join(" -> "))]
    Cycle(Vec<String>),
    /// A preset has replies filtered by a gate that it has not.
    #[error("preset '{preset}': filters name gate '{gate}', which is not a gate of the preset")]
    UnknownFilter {
        /// The preset.
        preset: String,
        /// The gate.
        gate: String,
    },
    /// An entry that should be a glob is none.
    #[error("preset '{preset}': {list} entry '{glob}' is not a valid glob: {why}")]
    BadGlob {
        /// The preset.
        preset: String,
        /// Where it stands.
        list: String,
        /// The entry.
        glob: String,
        /// Why.
        why: String,
    },
}
