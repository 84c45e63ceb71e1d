//! Scripted connector, connections, index and clock.

use super::*;
use crate::downstream::connection::{ConnectFailure, ConnectionContext, ConnectionEnd, ConnectionStart};

#[async_trait]
impl Connector for ScriptedConnector {
    async fn connect(
        &self,
        _: &ServerDefinition,
        context: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        if self.slow.load(Ordering::SeqCst) {
            let answer = tokio::time::timeout(limit, std::future::pending()).await;
            return answer.unwrap_or_else(|_| Err(ConnectFailure::timed_out(limit)));
        }
        if self.down.load(Ordering::SeqCst) {
            return Err(ConnectFailure::transient("it is down"));
        }
        let (calls, closed) = (Arc::clone(&self.calls), Arc::clone(&self.closed));
        let (lists, hold) = (Arc::clone(&self.lists), Arc::clone(&self.hold));
        let (login, end) = (context.login, watch::Sender::new(None));
        let session = (self.session.load(Ordering::SeqCst), Arc::clone(&self.session));
        Ok(Arc::new(ScriptedConnection { login, hold, calls, closed, lists, session, end }))
    }
}

impl ScriptedConnection {
    fn check_session(&self) -> Result<(), CallFailure> {
        let (own, valid) = &self.session;
        let is_valid = *own == valid.load(Ordering::SeqCst);
        is_valid.then_some(()).ok_or(CallFailure::SessionEnded { has_begun: false })
    }
}

#[async_trait]
impl ServerConnection for ScriptedConnection {
    fn start(&self) -> ConnectionStart {
        ConnectionStart::default()
    }

    fn has_lost_session(&self) -> bool {
        false
    }

    async fn list(&self, _: Duration) -> Result<Listing, CallFailure> {
        self.check_session()?;
        self.lists.fetch_add(1, Ordering::SeqCst);
        let tool = |name: &str, schema: Value| {
            Arc::new(ToolSpec {
                input_schema: Arc::new(schema.as_object().cloned().expect("an object")),
                ..ToolSpec::new(name, "Does something.")
            })
        };
        let object = || json!({"type": "object"});
        let tools = vec![
            tool("work", object()),
            tool("work", object()),
            tool("wrong\u{200b}name", object()),
            tool("no_object", json!({"type": "string"})),
            tool("die", object()),
            tool("refuse", object()),
            tool("end_session", object()),
            tool("refuse_session", object()),
        ];
        let (go_on, held) = mpsc::channel();
        tokio::task::spawn_blocking(move || held.recv());
        lock(&self.hold).replace(go_on);
        let params_schema = Arc::new(object().as_object().cloned().expect("an object"));
        Ok(Listing { name: "fake".into(), params_schema, tools, ..Listing::default() })
    }

    async fn call(
        &self,
        tool: &ToolSpec,
        _: Map<String, Value>,
        _: &Arc<gatehouse_core::CallContext>,
    ) -> Result<Reply, CallFailure> {
        self.check_session()?;
        self.calls.fetch_add(1, Ordering::SeqCst);
        match &*tool.name {
            "refuse_session" => Err(CallFailure::SessionEnded { has_begun: false }),
            "end_session" => {
                self.session.1.fetch_add(1, Ordering::SeqCst);
                Err(CallFailure::SessionEnded { has_begun: true })
            }
            "die" => {
                self.end.send_replace(Some("exit status: 3".into()));
                Err(CallFailure::Transport("exit status: 3".into()))
            }
            "refuse" => Err(CallFailure::Refused { code: -32603, message: "not today".into() }),
            _ => {
                let whose = self.login.owner().map_or("done", |owner| owner.as_str());
                Ok(Reply { content: vec![ContentPart::Text(whose.into())], ..Reply::default() })
            }
        }
    }

    async fn list_resources(&self, _: Option<&str>) -> Result<ResourcePage, CallFailure> {
        self.check_session()?;
        Ok(ResourcePage::default())
    }

    async fn follow_resource(&self, _: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure> {
        Ok(None)
    }

    fn is_followed(&self) -> bool {
        false
    }

    async fn read_resource(
        &self,
        _: &str,
        _: &Arc<gatehouse_core::CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure> {
        Ok(Vec::new())
    }

    async fn get_prompt(
        &self,
        _: &str,
        _: Map<String, Value>,
        _: &Arc<gatehouse_core::CallContext>,
    ) -> Result<FilledPrompt, CallFailure> {
        Ok(FilledPrompt::default())
    }

    async fn complete(&self, _: CompletionRequest) -> Result<Completions, CallFailure> {
        Ok(Completions::default())
    }

    async fn ended(&self) -> ConnectionEnd {
        let mut end = self.end.subscribe();
        let reason = end.wait_for(Option::is_some).await.expect("a sender");
        ConnectionEnd::new(reason.clone().unwrap_or_default())
    }

    async fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }

    async fn close_after_requests(&self) {
        self.close().await;
    }
}

pub(super) struct MemoryIndex(
    pub(super) Mutex<Option<Arc<Listing>>>,
    pub(super) Hold,
    pub(super) Arc<AtomicBool>,
);

#[async_trait]
impl ToolIndex for MemoryIndex {
    async fn put(&self, listing: IndexedListing, _: bool) -> Result<RefreshReport, Fault> {
        lock(&self.1).take();
        if self.2.load(Ordering::SeqCst) {
            return Err(Fault::unavailable("the index is full"));
        }
        let added = listing.listing.tools.len() as u32;
        let before = lock(&self.0).replace(listing.listing);
        Ok(RefreshReport { added: if before.is_none() { added } else { 0 }, ..RefreshReport::default() })
    }

    async fn known(&self, _: &str) -> Result<Option<KnownListing>, Fault> {
        let listing = lock(&self.0).clone();
        let known =
            |listing| KnownListing { listing, last_change: None, tools: Arc::default(), quarantined: 0 };
        Ok(listing.map(known))
    }

    async fn forget(&self, _: &str) -> Result<(), Fault> {
        lock(&self.0).take();
        Ok(())
    }

    async fn search(&self, _: &ToolSearchRequest, _: ToolFilter<'_>) -> Result<ToolSearchResult, Fault> {
        Ok(ToolSearchResult::default())
    }

    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        Ok(Vec::new())
    }

    async fn approve(&self, _: &str, _: &str, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }

    async fn generation(&self) -> Result<i64, Fault> {
        Ok(0)
    }
}

pub(super) struct FixedClock;

impl Clock for FixedClock {
    fn now_ms(&self) -> u64 {
        12
    }
}
