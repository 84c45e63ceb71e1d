//! A native source for this crate's tests, controlled by the arguments of its calls, and a client with fixed answers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use crate::{
    Catalog, CompiledPreset, Effect, Intent, Source,
    approval::ApprovalStore,
    call::{Call, CallContext},
    catalog::{SourceListing, ToolEntry},
    lock,
    outcome::{ContentPart, Fault, Outcome, Reply},
    pipeline::{Pipeline, Stage},
    ports::{
        Clock,
        client::{CallingClient, ClientFeatures, ClientProfile, ClientRoot, MessageLevel},
        ledger::ToolMetrics,
    },
    question::ClientQuestion,
    source::Listing,
    tool::{SourceId, ToolId, ToolSpec},
};

/// A clock that stands still.
pub(crate) struct FixedClock(pub(crate) u64);

impl Clock for FixedClock {
    fn now_ms(&self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Lists {
    AtOnce,
    WithAFault,
}

pub(crate) struct Fixture {
    id: SourceId,
    tools: Mutex<(Lists, Vec<Arc<ToolSpec>>)>,
    /// Calls that hang before one gets a reply.
    pub(crate) hangs: AtomicU32,
}

pub(crate) fn metrics(tool: &ToolId, calls: u64, errors: u64, last_called: u64) -> ToolMetrics {
    ToolMetrics {
        source: tool.source.clone(),
        tool: tool.name.to_string(),
        calls,
        tool_errors: errors,
        transport_errors: 0,
        mean_ms: 1.0,
        p50_ms: None,
        p95_ms: None,
        connecting_ms: 0,
        tokens_in: 0,
        tokens_out: 0,
        last_called: Some(last_called),
        last_error: None,
        last_error_kind: None,
        by_day: Vec::new(),
    }
}

/// Creates a tool that accepts any arguments.
pub(crate) fn tool(name: &str, output: Option<Value>) -> ToolSpec {
    let object = |schema: Value| Arc::new(schema.as_object().cloned().expect("an object"));
    ToolSpec {
        input_schema: object(json!({"type": "object"})),
        output_schema: output.map(object),
        ..ToolSpec::new(name, format!("Is {name}."))
    }
}

/// Creates a tool that only calls others, as a gate declares it.
pub(crate) fn forwarding_tool(name: &str) -> ToolSpec {
    let meta = Map::from_iter([("gatehouse/forwards".to_owned(), Value::Bool(true))]);
    let (effect, intent) = (Effect::ExternalExec, Intent::Execute);
    ToolSpec { effect, intent, meta: Some(Arc::new(meta)), ..tool(name, None) }
}

/// Creates a tool that takes request envelopes, like `proxy`.
pub(crate) fn request_tool(name: &str) -> ToolSpec {
    let mut spec = forwarding_tool(name);
    let properties = json!({"intent": {}, "action": {}, "params": {}, "constraints": {}});
    Arc::make_mut(&mut spec.input_schema).insert("properties".into(), properties);
    spec
}

impl Fixture {
    pub(crate) fn new(id: SourceId, tools: Vec<ToolSpec>) -> Arc<Self> {
        let tools = tools.into_iter().map(Arc::new).collect();
        Arc::new(Self { id, tools: Mutex::new((Lists::AtOnce, tools)), hangs: AtomicU32::new(0) })
    }

    pub(crate) fn gate(name: &str, tools: Vec<ToolSpec>) -> Arc<Self> {
        Self::new(SourceId::Gate(name.into()), tools)
    }

    pub(crate) fn server(name: &str, tools: Vec<ToolSpec>) -> Arc<Self> {
        Self::new(SourceId::Server(name.into()), tools)
    }

    pub(crate) fn now_lists(&self, lists: Lists) {
        lock(&self.tools).0 = lists;
    }

    pub(crate) async fn listed(self: &Arc<Self>) -> SourceListing {
        let listing = self.list(&Map::new()).await.expect("a listing");
        SourceListing {
            source: Arc::clone(self) as _,
            listing,
            params: Map::new(),
            problem: None,
            pending: None,
        }
    }
}

type AnswerQuestion = dyn Fn(&ClientQuestion) -> Result<Value, Fault> + Send + Sync;

/// A client that answers each question by a function, and records the questions.
pub(crate) struct FakeClient {
    pub(crate) profile: ClientProfile,
    pub(crate) roots: Vec<String>,
    answer: Box<AnswerQuestion>,
    asked: Mutex<Vec<String>>,
    session: ApprovalStore,
}

impl FakeClient {
    /// Creates a client that supports forms and sampling.
    pub(crate) fn new(
        answer: impl Fn(&ClientQuestion) -> Result<Value, Fault> + Send + Sync + 'static,
    ) -> Self {
        let protocol = "2025-11-25".to_owned();
        Self {
            profile: ClientProfile {
                features: ClientFeatures { forms: true, sampling: true, ..ClientFeatures::default() },
                protocol,
                ..ClientProfile::default()
            },
            roots: Vec::new(),
            answer: Box::new(answer),
            asked: Mutex::default(),
            session: ApprovalStore::default(),
        }
    }

    /// Returns the messages of all questions so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        lock(&self.asked).clone()
    }
}

#[async_trait]
impl CallingClient for FakeClient {
    fn profile(&self) -> ClientProfile {
        self.profile.clone()
    }

    fn approvals(&self) -> Option<&ApprovalStore> {
        Some(&self.session)
    }

    async fn ask(&self, questions: &[ClientQuestion]) -> Result<Vec<Map<String, Value>>, Fault> {
        let message = |question: &ClientQuestion| {
            let message = question.params().get("message").and_then(Value::as_str);
            message.unwrap_or("a request to the model").to_owned()
        };
        lock(&self.asked).extend(questions.iter().map(message));
        tokio::task::yield_now().await;
        let answer = |question| Ok((self.answer)(question)?.as_object().cloned().unwrap_or_default());
        questions.iter().map(answer).collect()
    }

    async fn roots(&self) -> Result<Vec<ClientRoot>, Fault> {
        Ok(self.roots.iter().map(|uri| ClientRoot { uri: uri.clone(), name: None }).collect())
    }

    fn send_log_message(&self, _: MessageLevel, _: &str, _: Value) {}
}

/// Creates a tool with this effect.
pub(crate) fn with_effect(name: &str, effect: Effect) -> ToolSpec {
    ToolSpec { effect, ..tool(name, None) }
}

/// Creates the catalog of a preset with these sources and no rules.
pub(crate) async fn catalog(sources: &[&Arc<Fixture>]) -> Arc<Catalog> {
    let listings = join_all(sources.iter().map(|source| source.listed())).await;
    let preset = CompiledPreset::from_sources("p", Vec::new());
    Arc::new(Catalog::build(&preset, listings).expect("a catalog"))
}

/// Creates a call of a tool of this source, through these stages.
pub(crate) async fn context(stages: Vec<Arc<dyn Stage>>, source: &Arc<Fixture>, tool: &str) -> CallContext {
    CallContext::new(&Arc::new(Pipeline::new(stages)), catalog(&[source]).await, tool)
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}

#[async_trait]
impl Source for Fixture {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(30)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let (lists, tools) = lock(&self.tools).clone();
        match lists {
            Lists::AtOnce => Ok(Arc::new(Listing { name: "fixture".into(), tools, ..Listing::default() })),
            Lists::WithAFault => Err(Fault::unavailable("It is gone.").hint("Start it.")),
        }
    }

    /// Replies with its arguments as text, and with their `structured` and `is_error`.
    ///
    /// `nested` calls that tool with the arguments `with`, or else its own, after the tools in `first`.
    async fn call(&self, call: &Call, tool: &ToolEntry) -> Outcome {
        let less = |left: u32| left.checked_sub(1);
        if self.hangs.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            std::future::pending::<()>().await;
        }
        for first in call.arguments["first"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            let _ = call.context.call_nested(call.deadline(), first, json!({})).await;
        }
        if let Some(nested) = call.arguments["nested"].as_str() {
            let arguments = call.arguments.get("with").unwrap_or(&call.arguments).clone();
            return call.context.call_nested(call.deadline(), nested, arguments).await;
        }
        Ok(Reply {
            content: vec![ContentPart::Text(format!("{} {}", tool.id.name, call.arguments))],
            structured: call.arguments.get("structured").filter(|data| !data.is_null()).cloned(),
            meta: None,
            is_error: call.arguments["is_error"] == true,
        })
    }
}
