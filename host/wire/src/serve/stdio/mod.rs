//! MCP over stdio, for the client that started this process. Standard output carries only protocol messages. The
//! process ends when the client closes standard input.

pub(crate) mod framing;
pub(crate) mod in_flight;
mod inline_calls;
mod startup_transport;

use std::{sync::Arc, time::Duration};

use gatehouse_core::Caller;
use rmcp::{ServiceExt, service::ServerInitializeError, transport::io::stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use self::{
    framing::LineTransport, in_flight::InFlightRequests, inline_calls::InlineCalls,
    startup_transport::StartupTransport,
};
use crate::serve::{ServedPresets, handler::Handler, shutdown::Drain, workers::Workers};

#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error(transparent)]
    Opening(#[from] Box<ServerInitializeError>),
    #[error(transparent)]
    Failed(#[from] tokio::task::JoinError),
}

/// Serves the default preset.
///
/// When the client disconnects, running calls have a second to finish. When `stop` is cancelled, they have `drain`.
pub async fn serve_stdio(
    presets: Arc<ServedPresets>,
    drain: Duration,
    stop: CancellationToken,
) -> Result<(), StdioError> {
    let (pending, workers) = (Arc::new(InFlightRequests::default()), Workers::default());
    let shutdown = Arc::clone(&presets.shutdown);
    let served = tokio::select! {
        served = serve(presets, Arc::clone(&pending), stdio_pipes(), workers.clone()) => served,
        () = pending.wait_until_over(&stop, Drain::new(drain), &shutdown) => Ok(()),
    };
    workers.end().await;
    served
}

pub(crate) async fn serve<R, W>(
    presets: Arc<ServedPresets>,
    pending: Arc<InFlightRequests>,
    pipes: (R, W),
    workers: Workers,
) -> Result<(), StdioError>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let served = Arc::clone(&presets.default);
    let composed = presets.composed.clone();
    let handler = Handler::new(presets, served, Caller::local());
    let client = inline_calls::ClientPeer::default();
    let lines = StartupTransport::new(LineTransport::new(pipes), pending, composed);
    let transport = InlineCalls::new(lines, handler.clone(), Arc::clone(&client), workers);
    let running = match handler.serve(transport).await {
        Ok(running) => running,
        // The client disconnected before it sent a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Box::new(error).into()),
    };
    let _ = client.set(running.peer().clone());
    running.waiting().await?;
    Ok(())
}
