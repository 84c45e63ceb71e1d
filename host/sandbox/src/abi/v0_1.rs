//! `gatehouse:gate@0.1.0`: bindings generated from `wit/0.1.0`, and a file per interface.

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
mod replies;
mod sampling;
mod servers;
mod servers_admin;
mod text;
mod tools;

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

/// Version of the exports. Compatible versions match too.
const VERSION: &str = "0.1.0";
