//! MCP over stdio, for the client that started this process. Standard output carries only protocol messages. The
//! process ends when the client closes standard input.

pub(crate) mod framing;
mod inline_calls;
mod startup_transport;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Caller, lock};
use rmcp::{
    RoleServer, ServiceExt,
    model::{ClientRequest, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, ServerInitializeError},
    transport::{Transport, io::stdio_pipes},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use self::{framing::LineTransport, inline_calls::InlineCalls, startup_transport::StartupTransport};
use crate::{
    peer_requests::cancelled_request,
    serve::{
        MAX_LAST_CALLS, ServedPresets,
        handler::Handler,
        shutdown::{Drain, Shutdown},
        workers::Workers,
    },
};

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

/// Unanswered requests of one client. Shutdown waits for them. rmcp would also wait for subscriptions, which never end.
#[derive(Default)]
pub(crate) struct InFlightRequests {
    requests: Mutex<HashMap<RequestId, TaskTrackerToken>>,
    unanswered: TaskTracker,
    gone: CancellationToken,
}

impl InFlightRequests {
    /// Waits until the client disconnects or `stop` is cancelled, and then until all requests are answered.
    ///
    /// Requests have [`MAX_LAST_CALLS`] to finish after a disconnect, and `drain` after `stop`. The rest gets an error
    /// reply.
    async fn wait_until_over(&self, stop: &CancellationToken, drain: Drain, shutdown: &Shutdown) {
        tokio::select! {
            () = self.gone.cancelled() => {}
            () = stop.cancelled() => self.drain(drain, shutdown).await,
        }
        let grace = if self.gone.is_cancelled() { MAX_LAST_CALLS } else { Duration::ZERO };
        if timeout(grace, self.all_answered()).await.is_err() {
            shutdown.abort();
            let _ = timeout(MAX_LAST_CALLS, self.all_answered()).await;
        }
    }

    /// Waits until all requests are answered, the client disconnects, or the time is over.
    async fn drain(&self, drain: Drain, shutdown: &Shutdown) {
        shutdown.announce(drain);
        let time = async {
            tokio::time::sleep(drain.open).await;
            shutdown.refuse();
            tokio::time::sleep(drain.closed).await;
        };
        tokio::select! {
            biased;
            () = self.all_answered() => {}
            () = self.gone.cancelled() => {}
            () = time => {}
        }
    }

    async fn all_answered(&self) {
        self.unanswered.close();
        self.unanswered.wait().await;
    }

    /// Receives a message and records its request.
    async fn receive<T: Transport<RoleServer>>(
        &self,
        transport: &mut T,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        let message = transport.receive().await;
        match &message {
            Some(JsonRpcMessage::Request(request))
                if !matches!(request.request, ClientRequest::SubscriptionsListenRequest(_)) =>
            {
                lock(&self.requests).insert(request.id.clone(), self.unanswered.token());
            }
            // A cancelled request gets no reply.
            Some(message) => self.remove(cancelled_request(message)),
            None => self.gone.cancel(),
        }
        message
    }

    /// Removes an answered or cancelled request.
    fn remove(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            lock(&self.requests).remove(id);
        }
    }
}
