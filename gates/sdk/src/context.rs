//! Facts about the call that is running, and the way to speak while it runs. Always granted.

pub use crate::bindings::gatehouse::gate::context::Level;
#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::context::{cancelled, exposed_name, log, now, progress};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::context::{cancelled, exposed_name, log, now, progress};
