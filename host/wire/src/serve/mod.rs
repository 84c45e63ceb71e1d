//! MCP server: one handler for stdio and HTTP, and for every protocol version that rmcp supports.

mod auth;
mod calls;
mod clients;
mod envelope;
mod event_reader;
mod events;
mod handler;
mod http;
mod icons;
mod in_flight;
mod inline_calls;
mod interactive_request;
mod json_text;
mod lists;
mod mcp;
mod missing_capability;
mod notifications;
mod paused_calls;
mod prompts;
mod reply;
mod reply_data;
mod request;
mod resource_requests;
mod resources;
mod routes;
mod served_presets;
mod server_requests;
mod session;
mod session_transport;
mod sessions;
mod shutdown;
mod startup_transport;
mod stdio;
mod stdio_framing;
mod subscriptions;
mod wire_id;
mod workers;

use std::time::Duration;

pub use self::http::{
    BoundServer, HostName, HttpError, HttpSettings, MAX_CONNECTIONS, SettingError, WebOrigin, bind,
};
pub use auth::{BearerToken, BearerTokenError};
pub use clients::ClientInfo;
pub(crate) use json_text::{replace_lone_surrogates, response_id};
pub(crate) use reply::BASE64;
pub use reply::{StructuredMode, call_result, tools};
pub use served_presets::{PresetView, ServedPreset, ServedPresets};
pub use stdio::{StdioError, serve_stdio};

#[cfg(any(test, fuzzing))]
pub(crate) use stdio_framing::fuzz::lines as fuzz_lines;

/// Maximum time for running calls after the client disconnects, and for error replies during shutdown.
const MAX_LAST_CALLS: Duration = Duration::from_secs(1);
