//! The handler's transport of an HTTP session.

use std::{io, sync::Arc};

use futures_util::future::ready;
use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc;

use super::session::HttpSession;

pub(super) struct SessionTransport {
    pub(super) session: Arc<HttpSession>,
    pub(super) receiver: mpsc::Receiver<ClientJsonRpcMessage>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.session.deliver(message);
        ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.receiver.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.close();
        Ok(())
    }
}
