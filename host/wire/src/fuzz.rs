//! Parsers of untrusted bytes, as functions of any input, for the tests here and for cargo-fuzz.

use std::io::Cursor;

use rmcp::transport::Transport;

use crate::{registry::manifest::component, serve::LineTransport};

pub fn lines(input: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut lines = LineTransport::new((Cursor::new(input.to_vec()), tokio::io::sink()));
    runtime.block_on(async {
        while lines.receive().await.is_some() {}
        lines.close().await.expect("a sink takes everything");
    });
}

pub fn manifest(input: &[u8]) {
    let _ = component(input, None);
}

#[cfg(test)]
mod tests {
    use gatehouse_mutate::Target;

    use super::*;

    #[test]
    fn any_line_is_a_message_or_answered() {
        const TARGET: Target = Target {
            name: "lines",
            seeds: &[
                br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
                "capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
                b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}\n\
                {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"x\"}}\n",
                b"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]\n\xff\n",
            ],
            words: &["\n", "\r\n", "\"id\"", "\"params\"", "\"jsonrpc\":\"2.0\"", "null", "[", "{\"a\":", "\"_meta\"", "\\ud800"],
            run: lines,
        };
        TARGET.test();
    }

    #[test]
    fn any_manifest_names_one_component_or_is_refused() {
        const TARGET: Target = Target {
            name: "manifest",
            seeds: &[
                br#"{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{},"layers":[
                {"mediaType":"application/wasm","size":7,"digest":
                "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]}"#,
                br#"{"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}"#,
            ],
            words: &["sha256:", "application/wasm", "\"layers\":[", "\"size\":", "null", "[", "{\"a\":", "\"digest\""],
            run: manifest,
        };
        TARGET.test();
    }
}
