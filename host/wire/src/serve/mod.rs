//! Serving clients: one handler for stdio and HTTP, and for every protocol version rmcp speaks.

mod auth;
mod handler;
mod http;
mod lines;
mod progress;
mod reply;
mod stdio;

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;
use gatehouse_core::{Catalog, Pipeline};

pub use auth::Token;
pub use http::{Http, HttpError, bind};
pub use reply::tools;
pub use stdio::serve_stdio;

/// A preset that is served: its catalog, which a reload swaps, and what it is for.
pub struct Served {
    /// What may be called now.
    pub catalog: ArcSwap<Catalog>,
    /// A sentence for the client's model.
    pub description: Option<String>,
}

/// Everything clients can reach.
pub struct House {
    /// The one line every call takes.
    pub pipeline: Pipeline,
    /// What clients get that name no preset.
    pub default: Arc<Served>,
    /// Presets by name, over HTTP. One that cannot be served says why.
    pub presets: BTreeMap<String, Result<Arc<Served>, String>>,
}
