//! A copy of `v0_1` under another version, for tests, made as docs/contract-versions.md describes. All WIT files except
//! `world.wit` are links.

#[path = "../v0_1/artifacts.rs"]
mod artifacts;
#[path = "../v0_1/catalog.rs"]
mod catalog;
#[path = "../v0_1/context.rs"]
mod context;
#[path = "../v0_1/documents.rs"]
mod documents;
#[path = "../v0_1/elicitation.rs"]
mod elicitation;
#[path = "../v0_1/exports.rs"]
mod exports;
#[path = "../v0_1/http.rs"]
mod http;
#[path = "../v0_1/knowledge.rs"]
mod knowledge;
#[path = "../v0_1/kv.rs"]
mod kv;
#[path = "../v0_1/models.rs"]
mod models;
#[path = "../v0_1/replies.rs"]
mod replies;
#[path = "../v0_1/sampling.rs"]
mod sampling;
#[path = "../v0_1/servers.rs"]
mod servers;
#[path = "../v0_1/servers_admin.rs"]
mod servers_admin;
#[path = "../v0_1/text.rs"]
mod text;
#[path = "../v0_1/tools.rs"]
mod tools;

mod bindings {
    wasmtime::component::bindgen!({
        path: "src/abi/tests/copy/wit",
        world: "everything",
        imports: { "gatehouse:gate/context": trappable, default: async },
        exports: { default: async },
    });
}

pub(in crate::abi) use bindings::{Everything, gatehouse};
pub(in crate::abi) use exports::GatePre;

/// Version of the exports. Compatible versions match too.
const VERSION: &str = "0.2.0";
