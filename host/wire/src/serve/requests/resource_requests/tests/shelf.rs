//! A source of resources and prompts. Some names and URIs make it fail.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Call, ContentPart, Fault, Outcome, Principal, Source, SourceId,
    catalog::ToolEntry,
    lock,
    outcome::{EmbeddedResource, ResourceBody, ResourceLink},
    prompt::{FilledPrompt, Prompt, PromptArgument, PromptMessage, PromptRole},
    resource::{ResourcePage, UriTemplate},
    source::Listing,
};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};

/// Lists a given number of resources per page, and optionally has a prompt.
pub(super) struct Shelf {
    id: SourceId,
    resources: u64,
    page: u64,
    prompt: bool,
    pub(super) readers: Mutex<Vec<Principal>>,
    pub(super) given_up: Arc<Notify>,
    /// Reports changes of the first resource.
    pub(super) changes: Mutex<watch::Sender<u64>>,
}

struct Ended(Arc<Notify>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Shelf {
    pub(super) fn new(name: &str, resources: u64, page: u64, prompt: bool) -> Arc<Self> {
        let id = SourceId::Gate(name.into());
        let (readers, given_up, changes) = (Mutex::default(), Arc::default(), Mutex::default());
        Arc::new(Self { id, resources, page, prompt, readers, given_up, changes })
    }

    fn uri(&self, id: &str) -> String {
        format!("test://{}/{id}", self.id.name())
    }
}

#[async_trait]
impl Source for Shelf {
    fn id(&self) -> &SourceId {
        &self.id
    }

    fn time_limit(&self) -> Duration {
        Duration::from_millis(if &**self.id.name() == "slow" { 20 } else { 10_000 })
    }

    async fn list(&self, _: &Map<String, Value>) -> Result<Arc<Listing>, Fault> {
        let templates = vec![UriTemplate {
            uri_template: self.uri("{id}"),
            name: "book".into(),
            title: None,
            description: Some("A book.".into()),
            mime_type: None,
        }];
        let argument =
            |name: &str, required| PromptArgument { name: name.into(), description: None, required };
        let prompt = Prompt {
            name: format!("read_{}", self.id.name()).into(),
            title: Some("Read".into()),
            description: None,
            arguments: vec![argument("book", true), argument("how", false)],
            icons: Vec::new(),
        };
        let prompts = Vec::from_iter(self.prompt.then_some(prompt));
        Ok(Arc::new(Listing { resources: self.resources > 0, templates, prompts, ..Listing::default() }))
    }

    async fn call(&self, _: &Call, _: &ToolEntry) -> Outcome {
        Err(Fault::internal("It has no tools."))
    }

    async fn list_resources(
        &self,
        _: &Call,
        _: &Arc<str>,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, Fault> {
        match (&**self.id.name(), cursor) {
            ("broken", _) => return Err(Fault::unavailable("Its engine is down.")),
            ("panics", _) => panic!("as it was asked to"),
            ("stuck", _) => return Ok(ResourcePage { resources: vec![], next: Some("here".into()) }),
            _ => {}
        }
        let wrong = |_| Fault::invalid("That is no cursor of this shelf.");
        let from: u64 = cursor.map_or(Ok(0), str::parse).map_err(wrong)?;
        let until = self.resources.min(from + self.page);
        let link = |uri| ResourceLink {
            uri,
            name: "bo\u{200b}ok".into(),
            title: None,
            description: Some("hid\u{e0041}den".into()),
            mime_type: None,
            size: Some(1),
            extra: Map::new(),
        };
        let mut resources: Vec<_> = (from..until).map(|id| link(self.uri(&id.to_string()))).collect();
        if from == 0 {
            resources.push(link("test://elsewhere/1".into()));
        }
        Ok(ResourcePage { resources, next: (until < self.resources).then(|| until.to_string()) })
    }

    async fn read_resource(
        &self,
        call: &Call,
        _: &Arc<str>,
        uri: &str,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        lock(&self.readers).push(call.context.principal().clone());
        let body = match uri.rsplit('/').next().unwrap_or_default() {
            "bytes" => ResourceBody::Blob(vec![0, 255]),
            "down" => return Err(Fault::unavailable("Its engine is down.").hint("Start it.")),
            "panic" => panic!("as it was asked to"),
            "never" => {
                let _ended = Ended(Arc::clone(&self.given_up));
                std::future::pending().await
            }
            id if id.parse().is_ok_and(|id: u64| id < self.resources) => {
                ResourceBody::Text(format!("book {id}"))
            }
            _ => return Err(Fault::not_found(format!("Book not found: '{uri}'"))),
        };
        Ok(vec![EmbeddedResource {
            uri: uri.into(),
            mime_type: Some("text/x-book".into()),
            body,
            meta: None,
        }])
    }

    async fn watch_resource(
        &self,
        _: &Call,
        _: &Arc<str>,
        uri: &str,
    ) -> Result<Option<watch::Receiver<u64>>, Fault> {
        Ok((uri == self.uri("0")).then(|| lock(&self.changes).subscribe()))
    }

    async fn get_prompt(
        &self,
        _: &Call,
        _: &Arc<str>,
        _: &str,
        arguments: &Map<String, Value>,
    ) -> Result<FilledPrompt, Fault> {
        if arguments["book"] == "down" {
            return Err(Fault::unavailable("Its engine is down."));
        }
        let text = ContentPart::Text(format!("Read {}.", arguments["book"]));
        let bytes = ResourceBody::Blob(vec![1]);
        let resource = EmbeddedResource { uri: self.uri("1"), mime_type: None, body: bytes, meta: None };
        let messages = vec![
            PromptMessage { role: PromptRole::User, content: text },
            PromptMessage { role: PromptRole::Assistant, content: ContentPart::Embedded(resource) },
        ];
        Ok(FilledPrompt { description: Some("Filled.".into()), messages })
    }
}
