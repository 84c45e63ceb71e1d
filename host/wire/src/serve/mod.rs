//! Serving clients: one handler for stdio and HTTP, and for every protocol version rmcp speaks.

mod asking;
mod asks;
mod auth;
mod calls;
mod clients;
mod envelope;
mod events;
mod follow;
mod handler;
mod http;
mod icons;
mod in_place;
mod json_text;
mod lacking;
mod line;
mod lines;
mod lists;
mod mcp;
mod opening;
mod parked;
mod pending;
mod prompts;
mod reply;
mod reply_data;
mod request;
mod resources;
mod routes;
mod served_presets;
mod session;
mod session_transport;
mod sessions;
mod shutdown;
mod stdio;
mod talk;
mod watching;
mod wire_id;
mod workers;

use std::time::Duration;

pub use self::http::{
    HostName, Http, HttpError, HttpSettings, MAX_CONNECTIONS, SettingError, WebOrigin, bind,
};
pub use auth::{Token, TokenError};
pub use clients::ClientInfo;
pub(crate) use json_text::{replace_lone_surrogates, response_id};
pub(crate) use reply::BASE64;
pub use reply::{Data, call_result, tools};
pub use served_presets::{PresetView, ServedPreset, ServedPresets};
pub use stdio::{StdioError, serve_stdio};

#[cfg(any(test, fuzzing))]
pub(crate) use lines::fuzz::lines as fuzz_lines;

/// How long calls that run may go on once the client is gone, and how long answers have at the end of the host.
const LAST_CALLS: Duration = Duration::from_secs(1);
