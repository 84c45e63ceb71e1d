//! `gatehouse:gate@0.1.0`: bindings made from `wit/0.1.0`, and in the folder a file for each interface: what its
//! functions do with the capability, and conversions to and from core's types.

mod artifacts;
mod catalog;
mod context;
mod documents;
mod elicitation;
mod exports;
mod http;
mod knowledge;
mod kv;
mod models;
mod optional;
mod sampling;
mod servers;
mod servers_admin;
mod text;
mod tools;

#[allow(missing_docs, reason = "generated; the prose stands in the WIT files")]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit/0.1.0",
        world: "everything",
        imports: { "gatehouse:gate/context": trappable, default: async },
        exports: { default: async },
    });
}

pub(super) use bindings::{Everything, gatehouse};
pub(super) use exports::GatePre;

/// The version that its exports are found by, and whatever is compatible with it.
const VERSION: &str = "0.1.0";
