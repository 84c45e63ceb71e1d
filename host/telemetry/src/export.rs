//! Sends spans to a collector. The SDK reads its usual variables, such as `OTEL_EXPORTER_OTLP_ENDPOINT`.

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use opentelemetry::{Context, KeyValue, trace::TracerProvider as _};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter as OtlpExporter, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{
        BatchConfigBuilder, BatchSpanProcessor, SdkTracerProvider, Span, SpanData, SpanExporter,
        SpanProcessor,
    },
};
use tokio::runtime::Handle;

use crate::{metrics, trace};

/// Maximum spans that wait. Further ones are dropped and counted.
const MAX_WAITING: usize = 2_048;

/// Maximum time to send the last spans when the host ends.
const MAX_LAST_EXPORT: Duration = Duration::from_secs(2);

type Exchange = Pin<Box<dyn Future<Output = Result<Response<Bytes>, String>> + Send>>;

/// Reason that the last request got no response, which the SDK does not pass on.
type LastReason = Arc<Mutex<Option<String>>>;

/// Sends a request, and returns the response or the reason that there is none.
pub type SendRequest = dyn Fn(Request<Bytes>) -> Exchange + Send + Sync;

/// The export of spans, which ends with [`end`](Self::end).
pub struct TraceExport(SdkTracerProvider);

impl TraceExport {
    /// Begins to record traces and to export them. Call it inside a runtime.
    ///
    /// # Errors
    /// The reason that the settings of the exporter are not usable.
    pub fn start(
        version: &'static str,
        replica: String,
        service: String,
        send: Arc<SendRequest>,
    ) -> Result<Self, String> {
        let reason = LastReason::default();
        let client = CollectorClient { runtime: Handle::current(), send, reason: Arc::clone(&reason) };
        let exporter = OtlpExporter::builder().with_http().with_http_client(client).build();
        let exporter = exporter.map_err(|error| error.to_string())?;
        let waiting = Arc::new(AtomicUsize::new(0));
        let exporter = CountedExporter {
            exporter,
            waiting: Arc::clone(&waiting),
            reason,
            is_failing: AtomicBool::new(false),
        };
        let batches = BatchConfigBuilder::default().with_max_queue_size(MAX_WAITING).build();
        let processor = BatchSpanProcessor::builder(exporter).with_batch_config(batches).build();
        // Variables override what is set first.
        let resource = Resource::builder_empty()
            .with_attributes([
                KeyValue::new("service.name", service),
                KeyValue::new("service.version", version),
                KeyValue::new("service.instance.id", replica),
            ])
            .with_detector(Box::new(opentelemetry_sdk::resource::EnvResourceDetector::new()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_span_processor(BoundedProcessor { processor, waiting })
            .build();
        trace::start(provider.tracer("gatehouse"));
        Ok(Self(provider))
    }

    /// Exports the spans that wait, for at most two seconds. Blocking.
    pub fn end(&self) {
        // A collector that is down has been reported before.
        let _ = self.0.shutdown_with_timeout(MAX_LAST_EXPORT);
    }
}

fn record_losses(spans: usize) {
    if let Some(metrics) = metrics() {
        metrics.span_losses.series([]).inc_by(spans as u64);
    }
}

/// Passes spans on while there is room in the queue. The queue of the SDK drops spans without a count.
#[derive(Debug)]
struct BoundedProcessor {
    processor: BatchSpanProcessor,
    waiting: Arc<AtomicUsize>,
}

impl SpanProcessor for BoundedProcessor {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MAX_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return record_losses(1);
        }
        self.processor.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.processor.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.processor.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.processor.set_resource(resource);
    }
}

/// Exports spans, and reports those that are lost.
#[derive(Debug)]
struct CountedExporter {
    exporter: OtlpExporter,
    waiting: Arc<AtomicUsize>,
    reason: LastReason,
    /// True from the first failure until an export works, so that the log reports it once.
    is_failing: AtomicBool,
}

impl SpanExporter for CountedExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let exported = self.exporter.export(batch).await;
        self.waiting.fetch_sub(spans, Ordering::Relaxed);
        match &exported {
            Ok(()) => self.is_failing.store(false, Ordering::Relaxed),
            Err(error) => {
                record_losses(spans);
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
                    let reason = reason.unwrap_or_else(|| error.to_string());
                    tracing::warn!(spans, "cannot send traces; calls continue: {reason}");
                }
            }
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Sends requests on the runtime of the host. The thread that exports has none.
struct CollectorClient {
    runtime: Handle,
    send: Arc<SendRequest>,
    reason: LastReason,
}

impl fmt::Debug for CollectorClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CollectorClient")
    }
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let answer = self.runtime.spawn((self.send)(request)).await?;
        if let Err(reason) = &answer {
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.clone());
        }
        Ok(answer?)
    }
}
