//! Serving the one client that started this process. Standard output carries the protocol and nothing
//! else; the process ends when the client closes standard input.

use std::sync::Arc;

use rmcp::{ServiceExt, transport::io::stdio_pipes};
use tokio_util::sync::CancellationToken;

use super::{
    LAST_CALLS, ServedPresets,
    handler::Handler,
    in_place::{self, InPlace},
    lines::Lines,
    pending::{Counted, Pending},
};

/// Serves the default preset until the client is gone or `stop` is cancelled; calls that run then have a
/// second to end.
pub async fn serve_stdio(presets: Arc<ServedPresets>, stop: CancellationToken) -> Result<(), String> {
    let pending = Arc::new(Pending::default());
    tokio::select! {
        served = serve(presets, Arc::clone(&pending)) => served,
        () = pending.over(&stop, LAST_CALLS) => Ok(()),
    }
}

async fn serve(presets: Arc<ServedPresets>, pending: Arc<Pending>) -> Result<(), String> {
    let served = Arc::clone(presets.default());
    let handler = Handler::new(presets, served);
    let client = in_place::Client::default();
    let lines = Counted::new(Lines::new(stdio_pipes()), pending);
    let transport = InPlace::new(lines, handler.clone(), Arc::clone(&client));
    let running = handler.serve(transport).await.map_err(|error| error.to_string());
    match running {
        Ok(running) => {
            let _ = client.set(running.peer().clone());
            running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
        }
        // A client that leaves before it has said anything has asked for nothing.
        Err(error) if error.contains("connection closed") => Ok(()),
        Err(error) => Err(error),
    }
}
