//! Fuzz target for stdio input.

use std::io::Cursor;

use rmcp::transport::Transport;

use super::LineTransport;

pub(crate) fn lines(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut lines = LineTransport::new((Cursor::new(input.to_vec()), tokio::io::sink()));
    runtime.block_on(async {
        while lines.receive().await.is_some() {}
        lines.close().await.expect("a sink takes everything");
    });
}
