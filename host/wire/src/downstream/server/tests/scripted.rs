//! Scripted connector and connections.

use super::*;
use crate::downstream::connection::{ConnectFailure, ConnectionContext, ConnectionEnd};

#[async_trait]
impl Connector for ScriptedConnector {
    async fn connect(
        &self,
        _: &ServerDefinition,
        _: ConnectionContext,
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
        Ok(Arc::new(ScriptedConnection { hold, calls, closed, lists, end: watch::Sender::new(None) }))
    }
}

#[async_trait]
impl ServerConnection for ScriptedConnection {
    async fn list(&self) -> Result<Listing, CallFailure> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        let tool = |name: &str, schema: Value| {
            Arc::new(ToolSpec {
                name: name.into(),
                title: None,
                description: "Does something.".into(),
                input_schema: Arc::new(schema.as_object().cloned().expect("an object")),
                output_schema: None,
                intent: gatehouse_core::Intent::Query,
                effect: gatehouse_core::Effect::ReadOnly,
                idempotent: true,
                open_world: false,
                dry_run: None,
                additive: false,
                meta: None,
                icons: Vec::new(),
            })
        };
        let object = || json!({"type": "object"});
        let tools = vec![
            tool("work", object()),
            tool("work", object()),
            tool("wrong name!", object()),
            tool("no_object", json!({"type": "string"})),
            tool("die", object()),
            tool("refuse", object()),
        ];
        let (go_on, held) = mpsc::channel();
        tokio::task::spawn_blocking(move || held.recv());
        lock(&self.hold).replace(go_on);
        let params_schema = Arc::new(object().as_object().cloned().expect("an object"));
        Ok(Listing { name: "fake".into(), params_schema, tools, ..Listing::default() })
    }

    async fn call(
        &self,
        tool: &str,
        _: Map<String, Value>,
        _: &Arc<gatehouse_core::CallContext>,
    ) -> Result<Reply, CallFailure> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        match tool {
            "die" => {
                self.end.send_replace(Some("exit status: 3".into()));
                Err(CallFailure::Transport("exit status: 3".into()))
            }
            "refuse" => Err(CallFailure::Refused { code: -32603, message: "not today".into() }),
            _ => Ok(Reply { content: vec![ContentPart::Text("done".into())], ..Reply::default() }),
        }
    }

    async fn list_resources(&self, _: Option<&str>) -> Result<ResourcePage, CallFailure> {
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
    ) -> Result<Vec<PromptMessage>, CallFailure> {
        Ok(Vec::new())
    }

    async fn complete(&self, _: CompletionRequest) -> Result<Completions, CallFailure> {
        Ok(Completions::default())
    }

    async fn ended(&self) -> ConnectionEnd {
        let mut end = self.end.subscribe();
        let why = end.wait_for(Option::is_some).await.expect("a sender");
        ConnectionEnd::new(why.clone().unwrap_or_default())
    }

    async fn close(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
}
