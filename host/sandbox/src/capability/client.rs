//! `context`: log lines, client messages and progress of a running call, always granted, within limits on their number and
//! rate. `elicitation` and `sampling`: requests to the client. The grants are separate because sampling spends the user's
//! model budget. Most scripted clients support neither.

use std::{
    slice,
    sync::Arc,
    time::{Duration, Instant},
};

use gatehouse_core::{
    SourceId,
    capability::{AccessLevel, Capability},
    hash, json,
    names::quoted,
    outcome::Fault,
    ports::client::{ClientProfile, MessageLevel},
    question::{ClientQuestion, MAX_CLIENT_MESSAGE_BYTES, MAX_FORM_BYTES, MAX_SAMPLING_BYTES},
};
use serde_json::{Map, Value, json};
use tracing::Level;

use super::{Capabilities, InstanceContext, object};

/// Minimum time between progress messages; earlier ones are dropped. Each costs the client as much as a reply.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

const MAX_LINE: usize = 2_000;

pub(super) struct OutputQuota {
    gate: Arc<str>,
    lines_left: u32,
    lines_dropped: u64,
    last_progress: Option<Instant>,
}

impl OutputQuota {
    pub(super) fn new(facts: &InstanceContext) -> Self {
        let (gate, lines_left) = (facts.gate.clone(), facts.limits.log_lines);
        Self { gate, lines_left, lines_dropped: 0, last_progress: None }
    }

    /// Counts a line. Returns `false` if it is over the limit.
    fn take_line(&mut self) -> bool {
        let remaining = self.lines_left.checked_sub(1);
        self.lines_left = remaining.unwrap_or_default();
        self.lines_dropped += u64::from(remaining.is_none());
        remaining.is_some()
    }
}

impl Drop for OutputQuota {
    fn drop(&mut self) {
        if self.lines_dropped > 0 {
            tracing::warn!(target: "gate", gate = &*self.gate, dropped = self.lines_dropped, "dropped log lines over the limit");
        }
    }
}

impl Capabilities {
    pub(crate) fn log(&mut self, level: Level, message: &str, fields: &str) {
        let context = &mut self.context;
        if !context.take_line() {
            return;
        }
        let (gate, message, fields) = (&*context.gate, quoted(message, MAX_LINE), quoted(fields, MAX_LINE));
        match level {
            Level::TRACE => tracing::trace!(target: "gate", gate, fields, "{message}"),
            Level::DEBUG => tracing::debug!(target: "gate", gate, fields, "{message}"),
            Level::INFO => tracing::info!(target: "gate", gate, fields, "{message}"),
            Level::WARN => tracing::warn!(target: "gate", gate, fields, "{message}"),
            Level::ERROR => tracing::error!(target: "gate", gate, fields, "{message}"),
        }
    }

    pub(crate) fn message(&mut self, level: MessageLevel, data: &str) {
        let Some(call) = self.facts.call.as_ref().map(|call| Arc::clone(&call.context)) else { return };
        if data.len() <= MAX_CLIENT_MESSAGE_BYTES && self.context.take_line() {
            // Text that is not JSON is sent as a string.
            let data = json::parse(data).unwrap_or_else(|_| data.into());
            call.notify_client(level, &self.facts.gate, data);
        }
    }

    pub(crate) fn progress(&mut self, done: u64, total: Option<u64>, message: Option<String>) {
        let Some(sink) = self.facts.call.as_ref().and_then(|call| call.context.progress.as_ref()) else {
            return;
        };
        let (now, last) = (Instant::now(), &mut self.context.last_progress);
        if last.is_none_or(|last| now - last >= PROGRESS_INTERVAL) {
            *last = Some(now);
            sink.report(
                done as f64,
                total.map(|total| total as f64),
                message.map(|text| quoted(&text, MAX_LINE)),
            );
        }
    }
}

const MAX_CLIENT_CHARS: usize = 128;

pub(crate) enum UserReply {
    /// Contains the form's content; an empty object if there is none.
    Accepted(Value),
    Declined,
    Cancelled,
}

pub(crate) struct ModelQuestion {
    pub(crate) prompt: String,
    pub(crate) system: Option<String>,
    pub(crate) max_tokens: u32,
    pub(crate) temperature: Option<f32>,
}

pub(crate) struct ModelReply {
    pub(crate) text: String,
    pub(crate) model: String,
    pub(crate) stop_reason: Option<String>,
}

impl Capabilities {
    /// Returns the client's profile; empty while the gate describes itself.
    pub(crate) fn client(&self) -> ClientProfile {
        let profile =
            self.facts().call.as_ref().map(|call| call.context.client.profile()).unwrap_or_default();
        let short = |text: String| quoted(&text, MAX_CLIENT_CHARS);
        ClientProfile {
            name: short(profile.name),
            version: short(profile.version),
            protocol: short(profile.protocol),
            ..profile
        }
    }

    /// Shows the user a form; `schema` is JSON.
    pub(crate) async fn ask_user(&self, message: &str, schema: &str) -> Result<UserReply, Fault> {
        let asker = self.asker();
        if schema.len() > MAX_FORM_BYTES {
            let message = format!("form schema is too large; the limit is {MAX_FORM_BYTES} bytes");
            return Err(Fault::exhausted(message));
        }
        let schema = object("form schema", json::parse(schema)).map_err(Fault::invalid)?;
        self.elicit(ClientQuestion::form(&asker, message, schema)).await
    }

    pub(crate) async fn ask_to_open_url(&self, message: &str, url: &str) -> Result<UserReply, Fault> {
        // A repeated question within a call has the same ID.
        let call = self.facts().call.as_ref().map(|call| call.context.id.to_string()).unwrap_or_default();
        let id = &hash::sha256_hex(format!("{call} {url}"))[..32];
        self.elicit(ClientQuestion::url(&self.asker(), message, url, id)).await
    }

    async fn elicit(&self, question: Result<ClientQuestion, Fault>) -> Result<UserReply, Fault> {
        let mut answer = self.answer(Capability::Elicitation, question).await?;
        Ok(match answer.get("action").and_then(Value::as_str) {
            Some("accept") => UserReply::Accepted(answer.remove("content").unwrap_or_else(|| json!({}))),
            Some("decline") => UserReply::Declined,
            _ => UserReply::Cancelled,
        })
    }

    pub(crate) async fn ask_client_model(&self, asked: ModelQuestion) -> Result<ModelReply, Fault> {
        let ModelQuestion { prompt, system, max_tokens, temperature } = asked;
        if prompt.len() + system.as_ref().map_or(0, String::len) > MAX_SAMPLING_BYTES {
            return Err(Fault::exhausted(format!(
                "prompt to the client's model is too long; the limit is {MAX_SAMPLING_BYTES} bytes"
            )));
        }
        let message = json!({"role": "user", "content": {"type": "text", "text": prompt}});
        let mut params = Map::from_iter([
            ("messages".to_owned(), json!([message])),
            ("maxTokens".to_owned(), max_tokens.into()),
        ]);
        params.extend(system.map(|system| ("systemPrompt".to_owned(), system.into())));
        params.extend(temperature.map(|temperature| ("temperature".to_owned(), temperature.into())));
        let question = ClientQuestion::sampling(&self.asker(), params);
        self.model_request(Capability::Sampling)?;
        let answer = self.answer(Capability::Sampling, question).await?;
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let blocks = match answer.get("content") {
            Some(Value::Array(blocks)) => blocks.as_slice(),
            Some(block) => slice::from_ref(block),
            None => &[],
        };
        let texts: Vec<&str> =
            blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
        Ok(ModelReply {
            text: texts.join("\n"),
            model: text(answer.get("model")).unwrap_or_default(),
            stop_reason: text(answer.get("stopReason")),
        })
    }

    async fn answer(
        &self,
        capability: Capability,
        question: Result<ClientQuestion, Fault>,
    ) -> Result<Map<String, Value>, Fault> {
        let granted = self.granted(capability, AccessLevel::Full)?;
        let answers = granted.call.context.ask_client(&[question?]).await?;
        answers.into_iter().next().ok_or_else(|| Fault::internal("the client gave no answer"))
    }

    fn asker(&self) -> SourceId {
        SourceId::Gate(Arc::clone(&self.facts().gate))
    }
}
