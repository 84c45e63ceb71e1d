//! Serving the one client that started this process. Standard output carries the protocol and nothing
//! else; the process ends when the client closes standard input.

use std::sync::Arc;

use gatehouse_core::Principal;
use rmcp::{ServiceExt, transport::io::stdio_pipes};

use super::{House, handler::Handler, lines::Lines};

/// Serves the default preset until the client is gone.
pub async fn serve_stdio(house: Arc<House>) -> Result<(), String> {
    let served = Arc::clone(house.default());
    let handler = Handler::new(house, served, Principal::Local);
    let running = handler.serve(Lines::new(stdio_pipes())).await.map_err(|error| error.to_string());
    match running {
        Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
        // A client that leaves before it has said anything has asked for nothing.
        Err(error) if error.contains("connection closed") => Ok(()),
        Err(error) => Err(error),
    }
}
