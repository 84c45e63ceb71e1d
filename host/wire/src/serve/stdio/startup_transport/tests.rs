//! Tests of messages during startup.

use std::sync::Arc;

use futures_util::FutureExt;
use gatehouse_core::{Catalog, CompiledPreset, Pipeline};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::*;
use crate::serve::{PresetView, ServedPresets, stdio, workers::Workers};

struct Client(UnboundedReceiver<RxJsonRpcMessage<RoleServer>>);

impl Transport<RoleServer> for Client {
    type Error = std::io::Error;

    fn send(
        &mut self,
        _: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.0.recv().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

type Sender = UnboundedSender<RxJsonRpcMessage<RoleServer>>;

fn opening() -> (Sender, CancellationToken, StartupTransport<Client>) {
    let (sender, receiver) = unbounded_channel();
    let composed = CancellationToken::new();
    let opening = StartupTransport::new(Client(receiver), Arc::default(), composed.clone());
    (sender, composed, opening)
}

fn say(sender: &Sender, methods: &[&str]) {
    for method in methods {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if !method.starts_with("notifications/") {
            message["id"] = json!(1);
        }
        if *method == "initialize" {
            let info = json!({"name": "test", "version": "1"});
            message["params"] =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        }
        sender.send(serde_json::from_value(message).expect("a message")).expect("it listens");
    }
}

/// Returns the method of the next message. `None` if the client disconnected.
async fn next(opening: &mut StartupTransport<Client>) -> Option<String> {
    let message = serde_json::to_value(opening.receive().await?).expect("JSON");
    Some(message["method"].as_str().expect("a method").to_owned())
}

#[tokio::test(start_paused = true)]
async fn the_first_request_waits_a_moment_and_the_others_for_the_preset() {
    let (sender, composed, mut opening) = opening();
    say(&sender, &["initialize"]);
    let began = Instant::now();
    assert_eq!(next(&mut opening).await.as_deref(), Some("initialize"));
    assert_eq!(began.elapsed().as_millis() / 10, MAX_PRESET_WAIT.as_millis() / 10);
    say(&sender, &["notifications/initialized", "tools/list", "prompts/list", "ping"]);
    assert_eq!(next(&mut opening).await.as_deref(), Some("notifications/initialized"));
    assert_eq!(next(&mut opening).await.as_deref(), Some("ping"), "before what has to wait");
    assert_eq!(next(&mut opening).now_or_never(), None);
    composed.cancel();
    for method in ["tools/list", "prompts/list"] {
        assert_eq!(next(&mut opening).await.as_deref(), Some(method));
    }
    say(&sender, &["tools/list"]);
    assert_eq!(next(&mut opening).await.as_deref(), Some("tools/list"));
}

#[tokio::test(start_paused = true)]
async fn a_preset_composed_in_time_is_sent_whole() {
    let (sender, composed, mut opening) = opening();
    say(&sender, &["initialize"]);
    assert_eq!(next(&mut opening).now_or_never(), None);
    composed.cancel();
    let began = Instant::now();
    assert_eq!(next(&mut opening).await.as_deref(), Some("initialize"));
    assert!(began.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_is_noticed_at_once() {
    let (sender, _, mut one) = opening();
    drop(sender);
    assert_eq!(next(&mut one).now_or_never(), Some(None));

    // Earlier requests are still answered if possible.
    let (sender, composed, mut other) = opening();
    say(&sender, &["tools/list"]);
    drop(sender);
    assert_eq!(next(&mut other).now_or_never(), None);
    composed.cancel();
    assert_eq!(next(&mut other).await.as_deref(), Some("tools/list"));
    assert_eq!(next(&mut other).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_asks_for_much_is_not_read_further() {
    let (sender, composed, mut opening) = opening();
    say(&sender, &["tools/list"; MAX_HELD_MESSAGES + 10]);
    assert_eq!(next(&mut opening).now_or_never(), None);
    assert_eq!(opening.held.len(), MAX_HELD_MESSAGES);
    composed.cancel();
    for _ in 0..MAX_HELD_MESSAGES + 10 {
        assert_eq!(next(&mut opening).await.as_deref(), Some("tools/list"));
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_were_promised_are_empty_rather_than_unknown() {
    let about = Some("For tests.".into());
    let presets = ServedPresets::starting(Pipeline::new(Vec::new()), "p", about, Arc::default());
    let presets = Arc::new(presets.expect("presets"));
    let ((mut input, reader), (writer, output)) = (duplex(1 << 16), duplex(1 << 16));
    let workers = Workers::default();
    let host = stdio::serve(Arc::clone(&presets), Arc::default(), (reader, writer), workers.clone());
    let host = tokio::spawn(host);
    let mut lines = BufReader::new(output).lines();
    let mut say = async |message: Value| {
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it listens");
    };
    let mut answer = async || -> Value {
        let line = lines.next_line().await.expect("a line").expect("it answers");
        serde_json::from_str(&line).expect("JSON")
    };
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    say(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).await;
    let began = answer().await;
    assert_eq!(began["result"]["instructions"], "For tests.", "{began}");
    for list in ["tools", "prompts", "resources", "completions"] {
        assert!(began["result"]["capabilities"][list].is_object(), "{list}: {began}");
    }
    say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    say(json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"})).await;
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    presets.begin(PresetView { catalog, instructions: None }.into(), &Arc::default());
    assert_eq!(answer().await["result"]["prompts"], json!([]));
    drop(input);
    host.await.expect("it ends").expect("served");
    workers.end().await;
}
