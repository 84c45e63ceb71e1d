//! A test client over pipes, for any protocol version.

use std::sync::Arc;

use gatehouse_core::{Catalog, CompiledPreset, Pipeline, Source, catalog::SourceListing};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::shelf::Shelf;
use crate::serve::{
    PresetView, ServedPresets,
    stdio::{self, InFlightRequests},
    workers::Workers,
};

pub(super) async fn view(shelves: &[&Arc<Shelf>]) -> PresetView {
    let mut offers = Vec::new();
    for shelf in shelves {
        let listing = shelf.list(&Map::new()).await.expect("a listing");
        listing.check().expect("a good one");
        let source = Arc::clone(shelf) as Arc<dyn Source>;
        offers.push(SourceListing { source, listing, params: Map::new(), problem: None, pending: None });
    }
    let catalog = Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), offers).expect("a catalog");
    PresetView { catalog, instructions: None }
}

pub(super) struct Client {
    pub(super) presets: Arc<ServedPresets>,
    input: DuplexStream,
    output: BufReader<DuplexStream>,
    version: &'static str,
    pub(super) capabilities: Value,
}

pub(super) const VERSIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

impl Client {
    pub(super) async fn new(version: &'static str, shelves: &[&Arc<Shelf>]) -> Self {
        let presets = ServedPresets::new(Pipeline::new(Vec::new()), view(shelves).await, Default::default());
        let presets = Arc::new(presets);
        let (input, reader) = duplex(1 << 16);
        let (writer, output) = duplex(1 << 20);
        tokio::spawn(stdio::serve(
            Arc::clone(&presets),
            Arc::<InFlightRequests>::default(),
            (reader, writer),
            Workers::default(),
        ));
        let output = BufReader::new(output);
        let mut client = Self { presets, input, output, version, capabilities: Value::Null };
        let reply = if client.is_stateless() {
            client.ask("server/discover", json!({})).await
        } else {
            let info = json!({"name": "c", "version": "1"});
            let hello = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
            let reply = client.ask("initialize", hello).await;
            client.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
            reply
        };
        client.capabilities = reply["result"]["capabilities"].clone();
        client
    }

    fn is_stateless(&self) -> bool {
        self.version == "2026-07-28"
    }

    pub(super) async fn say(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("a host that reads");
    }

    pub(super) async fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).await.expect("a line");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(super) async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        if self.is_stateless() {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.say(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})).await;
        self.hear().await
    }

    pub(super) async fn error(&mut self, method: &str, params: Value) -> (i64, String) {
        let reply = self.ask(method, params).await;
        let error = &reply["error"];
        (error["code"].as_i64().unwrap_or_default(), error["message"].as_str().unwrap_or_default().to_owned())
    }

    /// Lists all URIs, page by page.
    pub(super) async fn pages(&mut self) -> Vec<Vec<String>> {
        let (mut pages, mut params) = (Vec::new(), json!({}));
        loop {
            let reply = self.ask("resources/list", params).await;
            let listed = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
            let uri = |resource: &Value| resource["uri"].as_str().expect("an address").to_owned();
            pages.push(listed.iter().map(uri).collect());
            match reply["result"].get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return pages,
            }
        }
    }
}
