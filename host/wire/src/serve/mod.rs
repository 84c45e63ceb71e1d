//! MCP server: one handler for stdio and HTTP, and for every protocol version that rmcp supports.

mod caller_views;
mod client_table;
mod direct_calls;
mod elicitation;
mod envelope;
mod handler;
mod http;
mod json_text;
mod lists;
mod operation;
mod preset_views;
mod principal_slots;
mod requests;
mod seal;
mod served_presets;
mod sessions;
mod shutdown;
mod stdio;
mod workers;

use std::time::Duration;

pub use self::caller_views::InstructionsWriter;
pub use self::client_table::searches_tools;
pub use self::http::{
    AdminServer, BearerToken, BearerTokenError, BoundServer, Credentials, HostName, HttpError, HttpSettings,
    MAX_CONNECTIONS, PageHandler, PageServer, SettingError, WebOrigin, bind, bind_admin, bind_pages,
    parse_proxy,
};
pub(crate) use json_text::response_id;
pub use lists::clients::ClientInfo;
pub(crate) use lists::clients::ClientState;
pub(crate) use operation::{code_name, span_name};
pub use preset_views::{PresetView, PresetViews};
pub(crate) use requests::reply::{BASE64, icons_to_mcp};
pub use requests::reply::{StructuredMode, call_result, tools, tools_for};
pub use seal::{SEAL_KEY_LEN, SealError, SealKeys};
pub use served_presets::{ServedPreset, ServedPresets};
#[cfg(any(test, fuzzing))]
pub(crate) use stdio::framing::LineTransport;
pub use stdio::{StdioError, serve_stdio};

/// Maximum time for running calls after the client disconnects, and for error replies during shutdown.
const MAX_LAST_CALLS: Duration = Duration::from_secs(1);
