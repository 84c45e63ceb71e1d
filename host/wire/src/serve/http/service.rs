//! MCP services, created per preset on first use.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use tokio_util::sync::CancellationToken;

use super::body::MAX_BODY;
use crate::serve::{ServedPreset, ServedPresets, events::ReplyStore, mcp::McpService};

type PresetService = (Arc<ServedPreset>, Arc<McpService>);

pub(super) struct PresetServices {
    presets: Arc<ServedPresets>,
    pub(super) default: Arc<McpService>,
    /// Created again if the preset was removed and added again.
    by_name: Mutex<HashMap<String, PresetService>>,
    kept: Arc<ReplyStore>,
    config: StreamableHttpServerConfig,
}

impl PresetServices {
    /// Creates the services inside a runtime. Cancelling `end` closes all streams.
    pub(super) fn new(presets: Arc<ServedPresets>, end: &CancellationToken) -> Self {
        // The guard has already checked Host and Origin.
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
