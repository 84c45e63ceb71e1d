//! Notifications of a server: progress, log messages, changed lists and resources, and cancelled questions.

use std::sync::Arc;

use gatehouse_core::{names::quoted, ports::client::MessageLevel};
use serde_json::{Map, Value};

use super::{Peer, pending::MessageCaller};

/// Maximum characters of the name that a server gives to a logger.
const MAX_LOGGER: usize = 64;

impl Peer {
    pub(super) fn receive_notification(
        self: &Arc<Self>,
        method: &str,
        mut params: Map<String, Value>,
        origin: Option<u64>,
    ) {
        self.count_unrequested(1, 0);
        match method {
            "notifications/progress" => {
                if let Some(token) = number(params.get("progressToken")) {
                    self.pending.report(token, &params);
                }
            }
            "notifications/message" => self.log(&mut params, origin),
            "notifications/resources/updated" => {
                if let Some(uri) = params.get("uri").and_then(Value::as_str) {
                    self.subscriptions.changed(uri);
                }
            }
            "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed" => {
                if let Some(changed) = &self.context.changed {
                    changed();
                }
            }
            "notifications/subscriptions/acknowledged" => {
                let subscription = params.get("_meta").and_then(|meta| meta.get(SUBSCRIPTION_ID));
                if let (Some(id), Some(Value::Object(accepted))) =
                    (number(subscription), params.get_mut("notifications").map(Value::take))
                {
                    self.pending.acknowledge(id, accepted);
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = params.get("requestId") {
                    self.server_requests.cancel(id);
                    self.end_subscription(number(Some(id)));
                }
            }
            _ => {}
        }
    }

    /// Passes a log message to the client of its call, or to the only client if no call is running.
    fn log(&self, params: &mut Map<String, Value>, origin: Option<u64>) {
        let level = params.get("level").cloned().and_then(|level| serde_json::from_value(level).ok());
        let Some::<MessageLevel>(level) = level else { return };
        let logger = match params.get("logger").and_then(Value::as_str) {
            Some(logger) => format!("{}/{}", self.server.name(), quoted(logger, MAX_LOGGER)),
            None => self.server.name().to_string(),
        };
        let data = params.get_mut("data").map(Value::take).unwrap_or_default();
        match self.pending.caller(origin) {
            MessageCaller::Call(caller) if origin.is_some() || self.belongs_to(&caller.context) => {
                caller.context.notify_client(level, &logger, data);
            }
            MessageCaller::NoCall => self.context.clients.log_to_only(level, &logger, data),
            MessageCaller::Call(_) | MessageCaller::Unknown(_) => {}
        }
    }
}

/// Key of the `_meta` that names the request of a subscription.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// Returns a request ID of this host, which servers may repeat as a string.
fn number(id: Option<&Value>) -> Option<u64> {
    let id = id?;
    id.as_u64().or_else(|| id.as_str()?.parse().ok())
}
