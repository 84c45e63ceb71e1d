//! Parses the events of a message. Stores blocks as received, because a paused model needs them back to continue.

use serde_json::{Value, json};

use crate::{
    llm::{ParseEvents, PartialCompletion, StreamFlow},
    provider::{AttemptFailure, Provider},
};

/// Maximum turns of a response, including continuations after a pause.
const MAX_TURNS: usize = 5;

/// Maximum blocks of a turn. A search and its result are two.
const MAX_BLOCKS: usize = 512;

/// Maximum bytes of blocks that are stored to be sent back.
const MAX_KEPT: usize = 8 << 20;

pub(super) struct MessagesParser<'a> {
    provider: &'a Provider,
    body: &'a Value,
    blocks: Vec<Value>,
    /// Blocks of earlier turns.
    before: Vec<Value>,
    /// Partial JSON arguments of the open block.
    arguments: String,
    kept: usize,
    turns: usize,
    paused: bool,
    input: u64,
    /// Output tokens of earlier turns.
    output: u64,
    /// Output tokens of this turn.
    output_now: u64,
}

impl<'a> MessagesParser<'a> {
    pub(super) fn new(provider: &'a Provider, body: &'a Value) -> Self {
        Self {
            provider,
            body,
            blocks: Vec::new(),
            before: Vec::new(),
            arguments: String::new(),
            kept: 0,
            turns: 1,
            paused: false,
            input: 0,
            output: 0,
            output_now: 0,
        }
    }

    fn begin(
        &mut self,
        block: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
        self.kept += block.to_string().len();
        if self.blocks.len() >= MAX_BLOCKS || self.kept > MAX_KEPT {
            return Err(AttemptFailure::internal(self.provider, "sent a response with too many parts"));
        }
        self.blocks.push(block.clone());
        self.arguments.clear();
        if block["type"] == "web_search_tool_result" {
            for result in block["content"].as_array().into_iter().flatten() {
                partial.sources.read(result["url"].as_str(), result["title"].as_str());
            }
        }
        Ok(partial.write(block["text"].as_str().unwrap_or_default()))
    }

    fn grow(
        &mut self,
        delta: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
        self.kept += delta.to_string().len();
        if self.kept > MAX_KEPT {
            return Err(AttemptFailure::internal(self.provider, "sent a response with too many parts"));
        }
        let Some(block) = self.blocks.last_mut() else { return Ok(StreamFlow::More) };
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                append(block, "text", &delta["text"]);
                return Ok(partial.write(delta["text"].as_str().unwrap_or_default()));
            }
            "input_json_delta" => self.arguments.push_str(delta["partial_json"].as_str().unwrap_or_default()),
            "thinking_delta" => append(block, "thinking", &delta["thinking"]),
            "signature_delta" => append(block, "signature", &delta["signature"]),
            "citations_delta" => {
                let citation = &delta["citation"];
                partial.sources.quoted(citation["url"].as_str(), citation["title"].as_str());
                match block["citations"].as_array_mut() {
                    Some(citations) => citations.push(citation.clone()),
                    None => block["citations"] = json!([citation]),
                }
            }
            _ => {}
        }
        Ok(StreamFlow::More)
    }

    fn end(&mut self, partial: &PartialCompletion<'_>) {
        let Some(block) = self.blocks.last_mut().filter(|_| !self.arguments.is_empty()) else { return };
        if let Ok(input) = serde_json::from_str::<Value>(&self.arguments) {
            if block["name"] == "web_search" {
                partial.report_search(input["query"].as_str());
            }
            block["input"] = input;
        }
        self.arguments.clear();
    }

    fn message(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> Result<(), AttemptFailure> {
        let usage = &event["usage"];
        self.output_now = usage["output_tokens"].as_u64().unwrap_or(self.output_now);
        partial.record_usage(Some(self.input), Some(self.output + self.output_now));
        let delta = &event["delta"];
        match delta["stop_reason"].as_str() {
            None => return Ok(()),
            Some("refusal") => {
                let details = &delta["stop_details"];
                let why = details["explanation"].as_str().or(details["category"].as_str());
                return Err(AttemptFailure::refused(self.provider, why.unwrap_or_default()));
            }
            Some("max_tokens") => partial.out_of_tokens(),
            Some("model_context_window_exceeded") => {
                partial.cut_short = Some("the context of the model is full".to_owned());
            }
            Some("pause_turn") => self.paused = true,
            Some(_) => {}
        }
        partial.finished = true;
        Ok(())
    }
}

impl ParseEvents for MessagesParser<'_> {
    fn event(
        &mut self,
        event: &Value,
        partial: &mut PartialCompletion<'_>,
    ) -> Result<StreamFlow, AttemptFailure> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                partial.set_model(&event["message"]["model"]);
                let usage = &event["message"]["usage"];
                // Cached tokens count as input.
                let keys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
                self.input += keys.iter().filter_map(|key| usage[*key].as_u64()).sum::<u64>();
            }
            "content_block_start" => return self.begin(&event["content_block"], partial),
            "content_block_delta" => return self.grow(&event["delta"], partial),
            "content_block_stop" => self.end(partial),
            "message_delta" => self.message(event, partial)?,
            "message_stop" => return Ok(StreamFlow::Done),
            "error" => return Err(AttemptFailure::from_error_body(self.provider, 0, event, None)),
            _ => {}
        }
        Ok(StreamFlow::More)
    }

    fn continuation(&mut self) -> Option<Value> {
        if !std::mem::take(&mut self.paused) || self.turns >= MAX_TURNS {
            return None;
        }
        self.turns += 1;
        self.output += std::mem::take(&mut self.output_now);
        // The API rejects empty text blocks.
        self.blocks.retain(|block| block["type"] != "text" || block["text"] != "");
        self.before.append(&mut self.blocks);
        let mut body = self.body.clone();
        let message = json!({ "role": "assistant", "content": self.before });
        body["messages"].as_array_mut()?.push(message);
        Some(body)
    }
}

fn append(block: &mut Value, key: &str, piece: &Value) {
    let Some(piece) = piece.as_str() else { return };
    match &mut block[key] {
        Value::String(text) => text.push_str(piece),
        other => *other = json!(piece),
    }
}
