//! Artifacts: texts that were too large to show, kept whole for a while, each for whoever made the call that it came
//! from. Needs the grant `artifacts`.

pub use crate::bindings::gatehouse::gate::artifacts::{
    Artifact, Changes, Draft, Filter, Fit, Hit, Part, Piece, Window,
};
#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::artifacts::{change, delete, info, put, read, recent, search};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::artifacts::{change, delete, info, put, read, recent, search};
