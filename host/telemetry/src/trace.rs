//! Traces of requests and calls. Names are those of the OpenTelemetry conventions for MCP.

use std::{
    borrow::Cow,
    sync::OnceLock,
    time::{Duration, SystemTime},
};

pub use opentelemetry::trace::SpanKind;
use opentelemetry::{
    Context, KeyValue, Value,
    propagation::{Extractor, TextMapPropagator as _},
    trace::{Status, TraceContextExt as _, Tracer as _},
};
use opentelemetry_sdk::{propagation::TraceContextPropagator, trace::SdkTracer};

/// Time from which on a wait is worth an event.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// Maximum bytes of an attribute. Clients choose some of them, and thousands of spans may wait.
const MAX_TEXT: usize = 256;

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

/// Begins to record traces.
pub(crate) fn start(tracer: SdkTracer) {
    let _ = TRACER.set(tracer);
}

/// Whether traces are recorded.
pub fn is_tracing() -> bool {
    TRACER.get().is_some()
}

/// A span, and the parent of the spans within it. Clones are the same span. It is empty if traces are off.
#[derive(Clone, Default)]
pub struct Trace(Option<Context>);

/// The trace that a request continues, as `traceparent` and `tracestate` of W3C Trace Context.
#[derive(Default)]
pub struct RemoteTrace<'a> {
    pub parent: Option<&'a str>,
    pub state: Option<&'a str>,
}

impl Extractor for RemoteTrace<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => self.parent,
            "tracestate" => self.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

impl RemoteTrace<'_> {
    fn context(&self) -> Context {
        match self.parent {
            Some(_) => TraceContextPropagator::new().extract_with_context(&Context::new(), self),
            None => Context::new(),
        }
    }
}

impl Trace {
    /// Begins the span of a client's request, which continues `parent` and is linked to `linked`.
    pub fn of_request(
        name: impl Into<Cow<'static, str>>,
        parent: &RemoteTrace<'_>,
        linked: &RemoteTrace<'_>,
    ) -> Self {
        let Some(tracer) = TRACER.get() else { return Self(None) };
        let span = tracer
            .span_builder(name)
            .with_kind(SpanKind::Server)
            .start_with_context(tracer, &parent.context());
        let context = Context::new().with_span(span);
        let linked = linked.context().span().span_context().clone();
        if linked.is_valid() {
            context.span().add_link(linked, Vec::new());
        }
        Self(Some(context))
    }

    /// Begins a span within this one, or of its own if this is empty.
    pub fn child(&self, kind: SpanKind, name: impl Into<Cow<'static, str>>) -> Self {
        let Some(tracer) = TRACER.get() else { return Self(None) };
        let root = Context::new();
        let parent = self.0.as_ref().unwrap_or(&root);
        let span = tracer.span_builder(name).with_kind(kind).start_with_context(tracer, parent);
        Self(Some(Context::new().with_span(span)))
    }

    /// Sets an attribute, if the value is not empty.
    pub fn set(&self, key: &'static str, value: impl Into<Value>) {
        let Some(context) = self.0.as_ref().filter(|context| context.span().is_recording()) else { return };
        let mut value = value.into();
        if let Value::String(text) = &value
            && text.as_str().len() > MAX_TEXT
        {
            value = text.as_str()[..text.as_str().floor_char_boundary(MAX_TEXT)].to_owned().into();
        }
        if !matches!(&value, Value::String(text) if text.as_str().is_empty()) {
            context.span().set_attribute(KeyValue::new(key, value));
        }
    }

    /// Adds an event about a wait that has just ended, unless it was too short to matter.
    pub fn add_wait(&self, subject: &'static str, duration: Duration) {
        let Some(context) = self.0.as_ref().filter(|_| duration >= MIN_WAIT) else { return };
        let attributes = vec![
            KeyValue::new("gatehouse.wait.subject", subject),
            KeyValue::new("gatehouse.wait.seconds", duration.as_secs_f64()),
        ];
        context.span().add_event_with_timestamp("gatehouse.wait", SystemTime::now(), attributes);
    }

    /// Ends the span. `error` is its `error.type`, or empty.
    pub fn end(&self, error: &'static str) {
        let Some(context) = &self.0 else { return };
        if !error.is_empty() {
            self.set("error.type", error);
            context.span().set_status(Status::error(error));
        }
        context.span().end();
    }

    /// Returns the `traceparent` for requests that continue this span. `None` if it is empty.
    pub fn traceparent(&self) -> Option<String> {
        let span = self.0.as_ref()?.span();
        let context = span.span_context();
        let flags = context.trace_flags().to_u8();
        Some(format!("00-{}-{}-{flags:02x}", context.trace_id(), context.span_id()))
    }

    /// Returns the ids of the trace and of the span, in hexadecimal. `None` if it is empty.
    pub fn ids(&self) -> Option<(String, String)> {
        let span = self.0.as_ref()?.span();
        let context = span.span_context();
        Some((context.trace_id().to_string(), context.span_id().to_string()))
    }
}
