//! What wit-bindgen makes of `wit/0.1.0`, and nothing else. The rest of the SDK, and every gate, uses
//! these types through the modules that re-export them.
//!
//! This is the only module with unsafe code: the canonical ABI passes pointers. On targets other than
//! wasm the imports are stubs that are never called; see [`crate::testing`].

#![allow(unsafe_code, missing_docs, unreachable_pub, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit/0.1.0",
    world: "gate",
    additional_derives: [PartialEq],
    pub_export_macro: true,
    export_macro_name: "export_tools",
});
