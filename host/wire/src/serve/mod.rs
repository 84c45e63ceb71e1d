//! Serving clients: one handler for stdio and HTTP, and for every protocol version rmcp speaks.

mod auth;
mod clients;
mod envelope;
mod events;
mod follow;
mod handler;
mod house;
mod http;
mod lines;
mod mcp;
mod progress;
mod reply;
mod session;
mod session_transport;
mod sessions;
mod stdio;
mod wire_id;

pub use auth::Token;
pub use clients::ClientInfo;
pub use house::{House, Served, View};
pub use http::{Http, HttpError, bind};
pub use reply::tools;
pub use stdio::serve_stdio;
