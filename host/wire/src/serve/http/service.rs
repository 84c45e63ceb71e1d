//! The protocol behind the port: one service for each preset that a client asked for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio_util::sync::CancellationToken;

use super::body::MAX_BODY;
use crate::serve::{ServedPreset, ServedPresets, events::ReplyStore, mcp::McpService};

/// A preset and the service that was made for it.
type PresetService = (Arc<ServedPreset>, Arc<McpService>);

/// The services of all presets.
pub(super) struct PresetServices {
    presets: Arc<ServedPresets>,
    /// The service of the preset for clients that name none.
    pub(super) default: Arc<McpService>,
    /// Made when a client first asks for the preset; made anew for a preset that went and came back.
    by_name: Mutex<HashMap<String, PresetService>>,
    /// Replies that clients may ask for again.
    kept: Arc<ReplyStore>,
    config: StreamableHttpServerConfig,
}

impl PresetServices {
    /// Must be called inside the runtime. Every stream of theirs ends when `end` is cancelled.
    pub(super) fn new(presets: Arc<ServedPresets>, end: &CancellationToken) -> Self {
        // Host and Origin were checked before anything comes here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(end.child_token());
        let kept = Arc::default();
        Self {
            default: Arc::new(McpService::new(&presets, &presets.default, &kept, config.clone())),
            by_name: Mutex::default(),
            presets,
            kept,
            config,
        }
    }

    pub(super) fn preset(&self, name: &str, served: &Arc<ServedPreset>) -> Arc<McpService> {
        let mut services = gatehouse_core::lock(&self.by_name);
        if let Some((_, mcp)) = services.get(name).filter(|(known, _)| Arc::ptr_eq(known, served)) {
            return Arc::clone(mcp);
        }
        let mcp = McpService::new(&self.presets, served, &self.kept, self.config.clone());
        let mcp = Arc::new(mcp);
        services.insert(name.to_owned(), (Arc::clone(served), Arc::clone(&mcp)));
        mcp
    }
}
