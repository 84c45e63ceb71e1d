//! Holds calls to the quotas of their callers, and charges them for what reaches the client.
//!
//! Nested calls count as calls. Only the reply to the client, and what models used on the way, count as tokens.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{
    Call, ContentPart, Outcome, Reply,
    call::ModelTokens,
    json,
    preset::StructuredOutputMode,
    quota_meter::{QuotaMeter, QuotaPermit},
};

pub struct QuotaStage {
    meter: Arc<QuotaMeter>,
}

impl QuotaStage {
    pub fn new(meter: Arc<QuotaMeter>) -> Self {
        Self { meter }
    }
}

#[async_trait]
impl Stage for QuotaStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let is_outer = context.enclosing_sources.is_empty();
        let admitted = self.meter.admit(&context.caller, is_outer).await;
        let permit = match admitted {
            Ok(Some(permit)) => permit,
            Ok(None) => return next.run(call).await,
            Err(fault) => {
                context.notes.set_rule(&fault.message);
                return Err(fault);
            }
        };
        context.notes.set_stored_limit(permit.stored_limit());
        if !is_outer {
            return next.run(call).await;
        }
        let charge = ModelCharge { permit: &permit, models: context.notes.model_tokens.clone() };
        let mut outcome = next.run(call).await;
        drop(charge);
        match &mut outcome {
            Ok(reply) => {
                permit.charge_bytes(sent_bytes(reply, context.catalog.structured));
                reply.content.extend(permit.take_notes().into_iter().map(ContentPart::Text));
            }
            Err(fault) => {
                let hint = fault.hint.as_ref().map_or(0, String::len);
                permit.charge_bytes(fault.message.len() + hint);
            }
        }
        outcome
    }
}

/// Charges for models when dropped, so that a cancelled call pays too.
struct ModelCharge<'a> {
    permit: &'a QuotaPermit,
    models: ModelTokens,
}

impl Drop for ModelCharge<'_> {
    fn drop(&mut self) {
        self.permit.charge_tokens(self.models.total());
    }
}

/// Returns the estimated bytes of a reply on its way to the client. Media are sent as base64.
fn sent_bytes(reply: &Reply, mode: StructuredOutputMode) -> usize {
    let text = reply.text_bytes();
    let media = (reply.bytes() - text) / 3 * 4;
    let data = reply.structured.as_ref().filter(|_| mode != StructuredOutputMode::Off);
    text + media + data.map_or(0, json::encoded_len)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Caller, Fault, FaultKind,
        caller_patterns::CallerPatterns,
        pipeline::AdmitStage,
        quota::QuotaRule,
        testing::{FixedClock, Fixture, context, tool},
    };

    struct MeteredTools {
        meter: Arc<QuotaMeter>,
        source: Arc<Fixture>,
        caller: Arc<Caller>,
    }

    impl MeteredTools {
        fn new(calls: &str, tokens: &str) -> Self {
            let meter = Arc::new(QuotaMeter::new(Arc::new(FixedClock(0)), None));
            meter.set_rules(vec![QuotaRule {
                name: "q".into(),
                who: CallerPatterns::new(vec!["ann".into()]).expect("a pattern"),
                calls: calls.parse().ok(),
                tokens: tokens.parse().ok(),
                concurrency: None,
                stored: Some(9),
            }]);
            let source = Fixture::server("x", vec![tool("look", None)]);
            Self { meter, source, caller: Caller::named("ann") }
        }

        async fn call(&self, name: &str, arguments: Value) -> Result<Vec<String>, Fault> {
            let stage = Arc::new(QuotaStage::new(Arc::clone(&self.meter)));
            let mut context = context(vec![stage, Arc::new(AdmitStage)], &self.source, name).await;
            context.caller = Arc::clone(&self.caller);
            let reply = Call::new(context, arguments).run().await?;
            Ok(reply
                .content
                .into_iter()
                .filter_map(|part| match part {
                    ContentPart::Text(text) => Some(text),
                    _ => None,
                })
                .collect())
        }

        fn used(&self) -> (u64, u64) {
            let usage = self.meter.usage(&self.caller.principal);
            (usage[0].calls.used, usage[0].tokens.used)
        }
    }

    #[tokio::test]
    async fn nested_calls_count_as_calls_and_only_the_outer_reply_as_tokens() {
        let metered = MeteredTools::new("3 per day", "1000 per day");
        let reply = metered.call("x__look", json!({"nested": "x__look", "with": {}})).await.expect("a reply");
        assert_eq!(reply, ["look {}"]);
        assert_eq!(metered.used(), (2, 2));
        let noted = metered.call("x__look", json!({})).await.expect("a reply");
        assert_eq!(noted.len(), 2, "{noted:?}");
        assert!(noted[1].starts_with("[quota 'q': 100 % of 3 calls per day used"), "{noted:?}");
        let fault = metered.call("x__look", json!({})).await.expect_err("refused");
        assert_eq!(fault.kind, FaultKind::Exhausted);
    }

    #[tokio::test]
    async fn refused_calls_count() {
        let metered = MeteredTools::new("2 per day", "1000 per day");
        for _ in 0..2 {
            let unknown = metered.call("x__loook", json!({})).await.expect_err("unknown");
            assert_eq!(unknown.kind, FaultKind::UnknownTool);
        }
        let fault = metered.call("x__look", json!({})).await.expect_err("refused");
        assert_eq!(fault.kind, FaultKind::Exhausted);
    }

    #[tokio::test]
    async fn models_are_charged_to_the_call_that_caused_them_even_if_it_is_cancelled() {
        let metered = MeteredTools::new("3 per day", "1000 per day");
        metered.source.hangs.store(1, Ordering::Relaxed);
        let stage = Arc::new(QuotaStage::new(Arc::clone(&metered.meter)));
        let mut context = context(vec![stage], &metered.source, "x__look").await;
        context.caller = Arc::clone(&metered.caller);
        let models = context.notes.model_tokens.clone();
        let mut call = Box::pin(Call::new(context, json!({})).run());
        assert!(futures_util::poll!(&mut call).is_pending());
        models.add(500);
        drop(call);
        assert_eq!(metered.used(), (1, 500));
    }

    #[test]
    fn media_are_counted_as_base64_and_data_if_the_preset_shows_it() {
        let media = crate::outcome::MediaData { data: vec![0; 30], mime_type: "image/png".into() };
        let content = vec![ContentPart::Text("four".into()), ContentPart::Image(media)];
        let reply = Reply { content, structured: Some(json!({"a": 1})), ..Reply::default() };
        assert_eq!(sent_bytes(&reply, StructuredOutputMode::Off), 44);
        assert_eq!(sent_bytes(&reply, StructuredOutputMode::On), 51);
    }
}
