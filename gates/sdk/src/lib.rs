//! Write Gatehouse gates in Rust. A gate is a table of tools. The SDK compiles it to a component that implements the
//! contract in `wit/0.1.0`: it generates schemas from your types, dispatches calls, parses arguments and encodes
//! replies.
//!
//! A gate uses the host through [`context`], [`text`], [`replies`], [`knowledge`], [`documents`], [`models`], [`http`],
//! [`kv`], [`artifacts`], [`catalog`], [`servers`], [`servers_admin`], [`elicitation`] and [`sampling`]. Only the capabilities
//! that the gate uses become imports of the component, and the host shows that import list to the operator who grants
//! them. In native `cargo test` builds, the same functions call a [`testing::Fake`].
//!
//! # Example
//!
//! ```
//! use gatehouse_sdk::{Call, Count, Fault, Gate, Reply, tool, knowledge};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! // Parameters that a preset may set: `gates.titles = { top_k = 3 }`. The schema includes the defaults and doc comments.
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! struct Params {
//!     /// Number of titles that a search returns by default.
//!     top_k: Count,
//! }
//!
//! impl Default for Params {
//!     fn default() -> Self {
//!         Self { top_k: Count::new(5) }
//!     }
//! }
//!
//! #[derive(Deserialize, JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Find {
//!     /// Topic to search for, in your own words.
//!     #[schemars(length(min = 1, max = 8192))]
//!     query: String,
//!     /// Number of titles to return, at most 20.
//!     top_k: Option<Count>,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Titles {
//!     titles: Vec<String>,
//! }
//!
//! fn find(call: &Call<Params>, args: Find) -> Result<Reply, Fault> {
//!     let limit = args.top_k.unwrap_or(call.params.top_k).at_most(20);
//!     let filters = knowledge::Filters { page_types: vec![], domains: vec![], min_score: None };
//!     let hits = knowledge::search(&args.query, &filters, limit)?.hits;
//!     let titles: Vec<String> = hits.into_iter().map(|h| h.title).collect();
//!     Reply::markdown(titles.join("\n")).structured(&Titles { titles })
//! }
//!
//! pub fn gate() -> Gate<Params> {
//!     Gate::new("titles", env!("CARGO_PKG_VERSION"), "Finds titles of wiki pages.").tool(
//!         tool::<Params, Find>("find_titles")
//!             .title("Find titles")
//!             .description(|p| format!("Find wiki pages; returns {} titles.", p.top_k.at_most(20)))
//!             .default_from("top_k", |p| p.top_k.at_most(20).into())
//!             .idempotent()
//!             .output::<Titles>()
//!             .run(find),
//!     )
//! }
//!
//! gatehouse_sdk::export!(gate);
//!
//! // In a test:
//! use gatehouse_sdk::{knowledge::SearchResult, testing};
//! let host = testing::Fake::new()
//!     .search(|_, _, limit| { assert_eq!(limit, 2); Ok(SearchResult { hits: vec![], unmatched_terms: vec![], unknown_domains: vec![], note: None }) });
//! let reply = host.run(|| testing::call(&gate(), "find_titles", r#"{"query":"x","top_k":2}"#, "{}")).unwrap();
//! assert_eq!(reply.structured.as_deref(), Some(r#"{"titles":[]}"#));
//! ```
//!
//! Set the crate types `cdylib` and `rlib`, and build with `cargo build --profile gate --target wasm32-wasip2`.
//!
//! The SDK has no hidden costs: it caches nothing between calls, because the host gives each call its own instance, and
//! it reads no environment variables or files.

#![warn(missing_docs)]

#[macro_use]
mod host;

pub mod artifacts;
#[doc(hidden)]
pub mod bindings;
pub mod catalog;
#[cfg(all(feature = "testing", not(target_family = "wasm")))]
pub mod conformance;
pub mod context;
mod count;
pub mod documents;
pub mod elicitation;
mod exports;
mod gate;
pub mod http;
pub mod knowledge;
pub mod kv;
pub mod models;
mod outcome;
mod params;
pub mod replies;
pub mod sampling;
mod schema;
pub mod servers;
pub mod servers_admin;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
pub mod text;
mod tool;

pub use bindings::gatehouse::gate::types::{
    EmbeddedResource, Icon, IconTheme, Manifest, Media, ResourceBody, ResourceLink,
};
pub use count::{Count, Offset, WholeNumber};
pub use exports::{
    ConvertedMarkdown, FileFormat, Message, Origin, OutgoingReply, Prompt, PromptArgument, ResourcePage,
    Role, Suggestions, Target, Template, Typed,
};
pub use gate::Gate;
pub use outcome::{Content, Fault, FaultKind, Reply, to_json};
pub use params::{NoParams, Params};
pub use tool::{Call, Effect, Intent, Tool, ToolBuilder, tool};

/// Exports a gate from the component, given a function that returns the [`Gate`]. List the optional exports after the
/// function: `export!(gate, convert, filter, resources, prompts, completion)`. Expands to nothing on native targets, so that the
/// gate builds and tests like any library.
#[macro_export]
macro_rules! export {
    ($gate:path $(, $part:ident)* $(,)?) => {
        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code)] // The canonical ABI passes raw pointers.
        const _: () = {
            use $crate::bindings::{exports::gatehouse::gate::tools::Guest, gatehouse::gate::types};

            struct Exports;

            impl Guest for Exports {
                fn describe(params: String) -> Result<types::Manifest, types::Fault> {
                    $gate().describe(&params)
                }

                fn call(call: types::Call) -> Result<types::Reply, types::Fault> {
                    $gate().call(call)
                }
            }

            $crate::bindings::export_tools!(Exports with_types_in $crate::bindings);
            $($crate::export_part!($gate, $part);)*
        };
    };
}

/// Implements one optional export for [`export!`].
#[doc(hidden)]
#[macro_export]
macro_rules! export_part {
    ($gate:path, completion) => {
        impl $crate::bindings::completing::exports::gatehouse::gate::completion::Guest for Exports {
            fn complete(params: String, request: $crate::Typed) -> Result<$crate::Suggestions, types::Fault> {
                $gate().complete(&params, &request)
            }
        }

        $crate::bindings::completing::export_completion!(Exports with_types_in $crate::bindings::completing);
    };
    ($gate:path, convert) => {
        impl $crate::bindings::converting::exports::gatehouse::gate::convert::Guest for Exports {
            fn formats() -> Result<Vec<$crate::FileFormat>, types::Fault> {
                $gate().formats()
            }

            fn convert(
                file: Vec<u8>,
                name: String,
                media_type: String,
            ) -> Result<$crate::ConvertedMarkdown, types::Fault> {
                $gate().convert(&file, &name, &media_type)
            }
        }

        $crate::bindings::converting::export_convert!(Exports with_types_in $crate::bindings::converting);
    };
    ($gate:path, filter) => {
        impl $crate::bindings::filtering::exports::gatehouse::gate::filter::Guest for Exports {
            fn on_reply(
                call: types::Call,
                origin: $crate::Origin,
                reply: types::Reply,
            ) -> Result<Option<types::Reply>, types::Fault> {
                $gate().on_reply(call, origin, reply)
            }
        }

        $crate::bindings::filtering::export_filter!(Exports with_types_in $crate::bindings::filtering);
    };
    ($gate:path, resources) => {
        impl $crate::bindings::resourcing::exports::gatehouse::gate::resources::Guest for Exports {
            fn templates(params: String) -> Result<Vec<$crate::Template>, types::Fault> {
                $gate().resource_templates(&params)
            }

            fn list(params: String, cursor: Option<String>) -> Result<$crate::ResourcePage, types::Fault> {
                $gate().list_resources(&params, cursor.as_deref())
            }

            fn read(params: String, uri: String) -> Result<Vec<types::EmbeddedResource>, types::Fault> {
                $gate().read_resource(&params, &uri)
            }

            fn changes_in(params: String, uri: String) -> Result<Option<u64>, types::Fault> {
                $gate().resource_changes_in(&params, &uri)
            }
        }

        $crate::bindings::resourcing::export_resources!(Exports with_types_in $crate::bindings::resourcing);
    };
    ($gate:path, prompts) => {
        impl $crate::bindings::prompting::exports::gatehouse::gate::prompts::Guest for Exports {
            fn list(params: String) -> Result<Vec<$crate::Prompt>, types::Fault> {
                $gate().list_prompts(&params)
            }

            fn get(
                params: String,
                name: String,
                arguments: String,
            ) -> Result<Vec<$crate::Message>, types::Fault> {
                $gate().get_prompt(&params, &name, &arguments)
            }
        }

        $crate::bindings::prompting::export_prompts!(Exports with_types_in $crate::bindings::prompting);
    };
}
