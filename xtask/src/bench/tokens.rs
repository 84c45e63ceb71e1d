//! Token counts of a conversation: the tools that a model receives, its calls, and the replies.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::quality;
use super::server::BenchServer;
use super::setup::Bench;
use crate::process;
use crate::workspace::Workspace;

pub(crate) fn list_tools(server: &mut BenchServer) -> Result<String> {
    Ok(server.ask("tools/list", "{}")?["tools"].to_string())
}

/// Calls a tool and returns the texts that the call adds to a conversation: its parameters and the reply's text.
pub(crate) fn call_texts(server: &mut BenchServer, tool: &str, arguments: Value) -> Result<[String; 2]> {
    let parameters = json!({"name": tool, "arguments": arguments});
    let reply = server.ask("tools/call", &parameters.to_string())?;
    if reply["isError"] == true {
        bail!("{tool} answered {reply}");
    }
    let blocks = reply["content"].as_array().context("reply has no content")?;
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    Ok([parameters.to_string(), texts.join("\n")])
}

/// A token counter that counts like the gateway.
pub(crate) struct BenchTokenCounter {
    program: PathBuf,
    file: PathBuf,
}

impl BenchTokenCounter {
    pub(crate) fn new(bench: &Bench) -> Result<Self> {
        let program = quality::tool(&Workspace::load()?)?.get_program().into();
        Ok(Self { program, file: bench.folder.join("texts.json") })
    }

    pub(crate) fn count(&self, texts: &[String]) -> Result<Vec<usize>> {
        fs::write(&self.file, serde_json::to_string(texts)?)?;
        let mut command = process::command(&self.program);
        serde_json::from_str(&process::output(command.arg("--tokens").arg(&self.file))?)
            .context("bench-quality output is not a list of numbers")
    }
}
