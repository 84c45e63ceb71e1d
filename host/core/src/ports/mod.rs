//! What the host needs from outside, as traits. Engines, models and clocks live in other crates and
//! meet the capabilities here; nothing in this folder opens a file or a socket.

pub mod artifacts;
pub mod client;
pub mod clock;
pub mod documents;
pub mod embed;
pub mod http;
pub mod knowledge;
pub mod kv;
pub mod ledger;
pub mod llm;
pub mod marks;
pub mod servers;
pub mod text;
pub mod tool_index;

pub use artifacts::Artifacts;
pub use client::Client;
pub use clock::Clock;
pub use documents::{DocumentStore, Documents};
pub use embed::Embedder;
pub use http::Http;
pub use knowledge::Knowledge;
pub use kv::Kv;
pub use ledger::Ledger;
pub use llm::Llm;
pub use marks::Marks;
pub use servers::Servers;
pub use text::{Text, TokenCounter};
pub use tool_index::ToolIndex;
