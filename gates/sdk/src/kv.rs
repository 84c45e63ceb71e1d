//! The gate's own store: bytes under names, private to the gate, kept until they are deleted or their time
//! is up. Every preset that uses the gate shares it. Needs the grant `kv`.

#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::kv::{add, delete, get, keys, set};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::kv::{add, delete, get, keys, set};
