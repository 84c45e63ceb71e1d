//! Notes that a host prints at its start: the addresses of its presets and, on a terminal, how to connect.

use std::{
    io::{self, IsTerminal as _},
    net::SocketAddr,
};

use gatehouse_wire::serve::{self, PresetView, PresetViews};
use serde_json::{Value, json};

use crate::{
    cli::{presets, with_header},
    out,
};

/// Presets that are served by name, with their tools. `None` if a preset cannot be served.
pub(super) struct Greeting(Vec<(String, Option<Value>)>);

impl Greeting {
    pub(super) fn from_views(views: &PresetViews) -> Self {
        let interactive = out::is_interactive();
        let tools =
            |view: &PresetView| if interactive { json!(serve::tools(&view.catalog)) } else { Value::Null };
        Self(views.presets.iter().map(|(name, view)| (name.clone(), view.as_ref().ok().map(tools))).collect())
    }

    /// Prints the addresses over HTTP. The table, which takes longer, comes after the first line. `variable` holds the
    /// client's credential in the printed command.
    /// Metrics are at the address `metrics`.
    pub(super) async fn over_http(
        self,
        address: SocketAddr,
        metrics: Option<SocketAddr>,
        preset: &str,
        variable: Option<&str>,
    ) {
        out::note(format!("gatehouse serves preset '{preset}' on http://{address}/mcp"));
        if let Some(metrics) = metrics {
            out::note(format!("metrics for operators: http://{metrics}/metrics"));
        }
        if !out::is_interactive() {
            let names: Vec<String> = self.0.into_iter().map(|(name, _)| name).collect();
            return out::note(format!("every preset by name: http://{address}/mcp/p/<{}>", names.join("|")));
        }
        // Counting loads tables of some megabytes. The host serves clients at the same time.
        if let Ok(lines) = tokio::task::spawn_blocking(move || out::columns(&self.rows(address))).await {
            lines.iter().for_each(|line| out::note(format!("  {line}")));
        }
        let header = variable.map(|name| format!(" --header \"Authorization: Bearer ${name}\""));
        let header = header.unwrap_or_default();
        out::note(format!(
            "\nTo connect Claude Code:\n  claude mcp add --transport http gatehouse http://{address}/mcp/p/{preset}{header}\n\
             Another client (cursor, vscode, codex, gemini):\n  gatehouse mcp-config {preset} --http http://{address} --client cursor\n\
             ctrl-c ends this host."
        ));
    }

    fn rows(&self, address: SocketAddr) -> Vec<Vec<String>> {
        let row = |(name, tools): &(String, Option<Value>)| match tools {
            Some(tools) => {
                let count = tools.as_array().map_or(0, Vec::len);
                let tokens = presets::tokens(tools).to_string();
                vec![name.clone(), count.to_string(), tokens, format!("http://{address}/mcp/p/{name}")]
            }
            None => {
                let reason = "cannot be served; `gatehouse presets check`";
                vec![name.clone(), "-".into(), "-".into(), reason.into()]
            }
        };
        with_header(["PRESET", "TOOLS", "TOKENS", "ADDRESS"], self.0.iter().map(row))
    }
}

pub(super) fn over_stdio(preset: &str) {
    if !io::stdin().is_terminal() {
        return;
    }
    out::note(format!(
        "gatehouse serves preset '{preset}' over standard input and output, and waits there for an MCP client.\n\
         To let a client start it:     gatehouse mcp-config {preset}\n\
         To serve clients over HTTP:   gatehouse serve --http 8642\n\
         ctrl-d ends this host."
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_name_tools_tokens_and_address() {
        let tools = json!([{"name": "search", "description": "Searches."}]);
        let greeting = Greeting(vec![("broken".into(), None), ("one".into(), Some(tools))]);
        let rows = greeting.rows(([127, 0, 0, 1], 8642).into());
        let lines = out::columns(&rows);
        assert!(lines[1].starts_with("broken  -      -       cannot be served"), "{lines:?}");
        assert!(lines[2].starts_with("one     1      "), "{lines:?}");
        assert!(lines[2].ends_with("  http://127.0.0.1:8642/mcp/p/one"), "{lines:?}");
    }
}
