//! Tests with a filter that the arguments control.

use std::sync::atomic::AtomicU32;

use futures_util::future::join_all;
use serde_json::{Map, json};

use super::*;
use crate::{
    CallContext, Catalog, CompiledPreset, Pipeline, Preset, Source,
    catalog::{SourceListing, ToolEntry},
    outcome::{MediaData, ResourceLink},
    pipeline::{ConformStage, DeadlineStage},
    source::Listing,
    testing::{Fixture, forwarding_tool, request_tool, tool},
};

/// A filter that does what the argument `how` names, and counts its runs.
struct Shortener {
    id: SourceId,
    asked: AtomicU32,
}

impl Shortener {
    fn new() -> Arc<Self> {
        Arc::new(Self { id: SourceId::Gate("shortener".into()), asked: AtomicU32::new(0) })
    }
}

#[async_trait]
impl Source for Shortener {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_secs(10)
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let tools = vec![Arc::new(tool("own", None))];
        Ok(Arc::new(Listing { name: "shortener".into(), filter: true, tools, ..Listing::default() }))
    }

    async fn call(&self, _: &Call, _: &ToolEntry) -> Outcome {
        Ok(Reply { content: vec![ContentPart::Text("o".repeat(5_000))], ..Reply::default() })
    }

    async fn filter(&self, asked: FilterRequest) -> Result<Option<Reply>, Fault> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(!asked.deadline.is_expired() && asked.context.entry().is_err(), "it calls no tools");
        let how = asked.arguments["how"].as_str().unwrap_or("shorten").to_owned();
        let short = |text: &str| Reply { content: vec![ContentPart::Text(text.into())], ..Reply::default() };
        match how.as_str() {
            "fault" => return Err(Fault::internal("It broke.")),
            "hang" => std::future::pending().await,
            "leave" => return Ok(None),
            "error" => return Ok(Some(Reply { is_error: true, ..short("no") })),
            "empty" => return Ok(Some(Reply::default())),
            "slow" => later(Duration::from_secs(5)).await,
            _ => {}
        }
        let rest = asked.reply.content.iter().filter(|block| how == "keep" && !is_text(block)).cloned();
        Ok(Some(Reply {
            content: short("short").content.into_iter().chain(rest).collect(),
            ..Reply::default()
        }))
    }
}

/// Waits until the paused test clock has advanced by `time`.
async fn later(time: Duration) {
    let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
}

struct Host {
    shortener: Arc<Shortener>,
    catalog: Arc<Catalog>,
    pipeline: Arc<Pipeline>,
}

/// Creates a host with the tools `get`, `typed` and `run_code`, and the filter attached by `globs`.
async fn host(globs: Option<&[&str]>) -> Result<Host, String> {
    let output = json!({"type": "object"});
    let tools = vec![tool("get", None), tool("typed", Some(output)), tool("run_code", None)];
    host_of(globs, &[Fixture::new(SourceId::Gate("x".into()), tools)]).await
}

async fn host_of(globs: Option<&[&str]>, sources: &[Arc<Fixture>]) -> Result<Host, String> {
    let shortener = Shortener::new();
    let ids = sources.iter().map(|source| source.id()).chain([shortener.id()]);
    let mut preset =
        Preset { sources: ids.map(|id| (id.clone(), Map::new())).collect(), ..Preset::default() };
    if let Some(globs) = globs {
        let globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
        preset.filters.insert("shortener".into(), globs);
    }
    let preset =
        CompiledPreset::compile(&[("p".to_owned(), preset)].into(), "p").map_err(|e| e.to_string())?;
    let listing = shortener.list(&Map::new()).await.expect("a listing");
    let filter = SourceListing {
        source: Arc::clone(&shortener) as _,
        listing,
        params: Map::new(),
        problem: None,
        pending: None,
    };
    let mut listings = vec![filter];
    for source in sources {
        listings.push(source.listed().await);
    }
    let catalog = Catalog::build(&preset, listings).map_err(|e| e.to_string())?;
    let stages: Vec<Arc<dyn Stage>> =
        vec![Arc::new(DeadlineStage), Arc::new(CompactStage::default()), Arc::new(ConformStage)];
    let pipeline = Arc::new(Pipeline::new(stages));
    Ok(Host { shortener, catalog: Arc::new(catalog), pipeline })
}

impl Host {
    fn context(&self, name: &str) -> CallContext {
        CallContext::new(&self.pipeline, Arc::clone(&self.catalog), name)
    }

    async fn call(&self, name: &str, arguments: Value) -> Reply {
        Call::new(self.context(name), arguments).run().await.expect("a reply")
    }

    fn asked(&self) -> u32 {
        self.shortener.asked.load(Ordering::Relaxed)
    }
}

fn long(how: &str) -> Value {
    json!({"how": how, "filling": "x".repeat(2_000)})
}

fn texts(reply: &Reply) -> String {
    let text = |block: &ContentPart| match block {
        ContentPart::Text(text) => text.chars().take(5).collect(),
        other => format!("<{other:?}>"),
    };
    reply.content.iter().map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn only_long_replies_are_filtered() {
    let host = host(Some(&["get", "x.typed"])).await.expect("a host");
    assert_eq!(texts(&host.call("get", long("shorten")).await), "short");
    assert_eq!(texts(&host.call("get", long("leave")).await), "get {");
    assert_eq!(host.asked(), 2);
    assert_eq!(texts(&host.call("get", json!({})).await), "get {", "short as it is");
    assert_eq!(texts(&host.call("run_code", long("shorten")).await), "run_c", "not attached");
    assert_eq!(texts(&host.call("own", json!({})).await), "ooooo", "the filter's own");
    let mut failed = long("shorten");
    failed["is_error"] = true.into();
    assert_eq!(texts(&host.call("get", failed).await), "get {", "an error");
    // The outer call's reply is the nested call's, so it is filtered once.
    let mut outer = long("shorten");
    outer["nested"] = "get".into();
    let nested = host
        .context("get")
        .call_nested(&CallDeadline::fixed(Instant::now() + REPLY_TIME_RESERVE), "get", long("shorten"))
        .await;
    assert_eq!(texts(&nested.expect("a reply")), "get {", "what tools get is whole");
    assert_eq!(host.asked(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_tool_of_a_gate_is_filtered_as_if_it_were_called_directly() {
    let script = Fixture::gate("script", vec![forwarding_tool("run_code"), request_tool("request")]);
    let others = Fixture::gate("x", vec![tool("get", None), tool("named", None)]);
    let host = host_of(Some(&["run_code", "request", "named"]), &[script, others]).await.expect("a host");
    let through = |tool: &str| json!({"nested": tool, "with": long("shorten")});
    for forwarding in ["run_code", "request"] {
        assert_eq!(texts(&host.call(forwarding, through("get")).await), "get {", "{forwarding}");
        assert_eq!(texts(&host.call(forwarding, through("named")).await), "short", "{forwarding}");
    }
    let mut patch = through("named");
    patch["artifact"] = "PATCH".into();
    assert_eq!(texts(&host.call("request", patch.clone()).await), "named", "the form that was asked for");
    assert_eq!(texts(&host.call("run_code", patch).await), "short", "only a request names a form");
    let mut context = host.context("named");
    context.for_program = true;
    let reply = Call::new(context, long("shorten")).run().await.expect("a reply");
    assert_eq!(texts(&reply), "named", "a program reads it");
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_fails_leaves_the_reply() {
    let host = host(Some(&["*"])).await.expect("a host");
    for how in ["fault", "hang", "error", "empty"] {
        let start = Instant::now();
        assert_eq!(texts(&host.call("get", long(how)).await), "get {", "{how}");
        assert!(start.elapsed() <= Duration::from_secs(10), "{how}");
    }
    // A filter that hangs is stopped by its own limit, and always before the call.
    let start = Instant::now();
    let mut context = host.context("get");
    context.outer_deadline = Some(CallDeadline::fixed(start + Duration::from_secs(2)));
    let call = Call::new(context, long("hang"));
    assert_eq!(texts(&call.run().await.expect("a reply")), "get {");
    assert_eq!(start.elapsed(), Duration::from_secs(2) - REPLY_TIME_RESERVE);
}

#[test]
fn what_is_no_text_stays() {
    let image = |byte| ContentPart::Image(MediaData { data: vec![byte], mime_type: "image/png".into() });
    let link = ContentPart::Link(ResourceLink {
        uri: "a://x".into(),
        name: "x".into(),
        title: None,
        description: None,
        mime_type: None,
        size: None,
        extra: Map::new(),
    });
    let text = |text: &str| ContentPart::Text(text.into());
    let reply = |content: Vec<ContentPart>| Arc::new(Reply { content, ..Reply::default() });
    let raw = reply(vec![text("long"), image(1), text("long"), image(2), link.clone()]);
    let kept = |content: Vec<ContentPart>| {
        check_reply(&raw, reply(content)).map(drop).map_err(|fault| fault.message)
    };
    assert_eq!(kept(vec![text("s"), image(1), image(2), link.clone()]), Ok(()));
    assert_eq!(kept(vec![image(1), image(2), link.clone(), link.clone()]), Ok(()), "and more");
    for lost in [vec![text("s")], vec![image(2), image(1), link.clone()], vec![image(1), image(2)]] {
        assert_eq!(kept(lost), Err("it returned a reply that lacks non-text content".into()));
    }
}

#[tokio::test]
async fn filtered_tools_return_no_structured_data() {
    let host = host(Some(&["typed"])).await.expect("a host");
    let entry = |name: &str| Arc::clone(host.catalog.get(name).expect("a tool"));
    assert!(entry("typed").client_output_schema(false).is_none() && entry("typed").output_schema.is_some());
    let reply = host.call("typed", json!({"structured": {"n": 1}})).await;
    assert_eq!((texts(&reply).as_str(), reply.structured), ("typed", None));
    let bare = read_data(Reply { structured: Some(json!({"n": 1})), ..Reply::default() }).await;
    assert_eq!(bare.expect("read").1.as_deref(), Some("{\"n\":1}"), "what was said by data alone");
    let unfiltered = self::host(Some(&[])).await.expect("a host");
    assert!(unfiltered.catalog.get("typed").expect("a tool").client_output_schema(false).is_some());
    let reply = unfiltered.call("typed", json!({"structured": {"n": 1}})).await;
    assert!(reply.structured.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_same_reply_to_the_same_caller_is_shortened_once() {
    let host = host(Some(&["get"])).await.expect("a host");
    let same = (0..5).map(|_| host.call("get", long("slow")));
    assert!(join_all(same).await.iter().all(|reply| texts(reply) == "short"));
    assert_eq!(host.asked(), 1);
    let others = ["a", "b"].map(|name| {
        let mut context = host.context("get");
        context.caller = crate::Caller::named(name);
        Call::new(context, long("slow")).run()
    });
    join_all(others).await;
    assert_eq!(host.asked(), 3, "nobody gets what was made for another one");
    // If one caller cancels, the other still gets the shared result.
    let context = host.context("get");
    let cancel = context.cancel.clone();
    let (given_up, waited, ()) =
        tokio::join!(Call::new(context, long("slow")).run(), host.call("get", long("slow")), async {
            later(Duration::from_secs(1)).await;
            cancel.cancel();
        });
    assert!(given_up.is_err());
    assert_eq!((texts(&waited).as_str(), host.asked()), ("short", 4));
}

#[tokio::test]
async fn preset_selects_the_targets_of_a_filter() {
    let attached = |host: &Host| -> Vec<String> {
        let entries = host.catalog.entries().iter().filter(|entry| !entry.filters.is_empty());
        entries.map(|entry| entry.name.to_string()).collect()
    };
    assert_eq!(attached(&host(None).await.expect("a host")), ["run_code"]);
    assert_eq!(attached(&host(Some(&["gate:*"])).await.expect("a host")), ["get", "run_code", "typed"]);
    assert_eq!(attached(&host(Some(&["server:*"])).await.expect("a host")), [""; 0]);
    let idle = host(Some(&["other.*"])).await.expect("a host");
    assert!(idle.catalog.get("own").is_none(), "a filter without a tool to filter keeps its own tools back");
    let bad = host(Some(&["{"])).await.map(drop).expect_err("refused");
    assert!(bad.starts_with("preset 'p': filters.shortener entry '{' is not a valid glob"), "{bad}");
    let gate = |name: &str| (SourceId::Gate(name.into()), Map::new());
    let preset = |filters: &str| Preset {
        sources: vec![gate("x")],
        filters: [(filters.to_owned(), Vec::new())].into(),
        ..Preset::default()
    };
    let compile = |filters: &str| CompiledPreset::compile(&[("p".to_owned(), preset(filters))].into(), "p");
    let unknown = compile("y").map(drop).expect_err("refused").to_string();
    assert_eq!(unknown, "preset 'p': filters name gate 'y', which is not a gate of the preset");
    let source = Fixture::new(SourceId::Gate("x".into()), vec![tool("get", None)]);
    let preset = compile("x").expect("compiles");
    let refused = Catalog::build(&preset, vec![source.listed().await]).map(drop).expect_err("refused");
    assert_eq!(refused.to_string(), "preset 'p': filters name gate 'x', which does not filter replies");
}
