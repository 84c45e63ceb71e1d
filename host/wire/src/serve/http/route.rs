//! Paths of the server.

use gatehouse_core::ports::auth::ProtectedResource;
use percent_encoding::percent_decode_str;

use super::{
    endpoints::{self, ToolEndpoint},
    guard::METADATA_PATH,
};
use crate::login::SIGN_IN_PATH;

/// Destination of a request.
pub(super) enum Route {
    Mcp(Option<String>),
    /// A tool of the preset in the path, for programs that do not use MCP.
    Endpoint(Option<String>, &'static ToolEndpoint),
    Root,
    /// Metadata of the protected resource at a path, which is empty for the host.
    Metadata(String),
    Health,
    Ready,
    /// A page on which a principal signs in to a server: the path below `/sign-in/`.
    SignIn(String),
    Unknown,
}

impl Route {
    pub(super) fn from_path(path: &str) -> Self {
        match path.strip_suffix('/').unwrap_or(path) {
            "" => Self::Root,
            "/mcp" => Self::Mcp(None),
            "/healthz" => Self::Health,
            "/readyz" => Self::Ready,
            path if let Some(page) =
                path.strip_prefix(SIGN_IN_PATH).and_then(|path| path.strip_prefix('/')) =>
            {
                Self::SignIn(page.to_owned())
            }
            path => match path.strip_prefix(METADATA_PATH) {
                Some("") => Self::Metadata(String::new()),
                Some("/mcp") => Self::Metadata(ProtectedResource::Default.path()),
                Some(below) => match Self::from_mcp_path(below) {
                    Some(Self::Mcp(Some(preset))) => {
                        Self::Metadata(ProtectedResource::Preset(&preset).path())
                    }
                    _ => Self::Unknown,
                },
                None => Self::from_mcp_path(path).unwrap_or(Self::Unknown),
            },
        }
    }

    /// Parses `/mcp/p/<preset>`, and the endpoints below it and below `/mcp`.
    fn from_mcp_path(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("/mcp/")?;
        if let Some(endpoint) = endpoints::find(rest) {
            return Some(Self::Endpoint(None, endpoint));
        }
        let rest = rest.strip_prefix("p/")?;
        let (preset, below) =
            rest.split_once('/').map_or((rest, None), |(preset, below)| (preset, Some(below)));
        let preset =
            percent_decode_str(preset).decode_utf8().ok().filter(|preset| !preset.is_empty())?.into_owned();
        match below {
            Some(below) => Some(Self::Endpoint(Some(preset), endpoints::find(below)?)),
            None => Some(Self::Mcp(Some(preset))),
        }
    }
}
