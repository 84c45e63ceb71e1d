//! Requests and answers of three providers, with and without web search.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::{Answer, End};

pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

pub(crate) const PAGE: &str = "https://example.org/backoff";

#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire {
    OpenAi,
    Gemini,
    Anthropic,
}

pub(crate) const ALL: [Wire; 3] = [Wire::OpenAi, Wire::Gemini, Wire::Anthropic];

impl Wire {
    pub(crate) fn configuration(self, address: SocketAddr) -> String {
        // A key is only sent to a configured server if the file names the key.
        format!("{}api_key = \"${{{}}}\"\n", self.blocks(address), self.variable())
    }

    fn blocks(self, address: SocketAddr) -> String {
        match self {
            // Only OpenAI's own address is known to support the API with search.
            Self::OpenAi => format!(
                "[models]\nllm = \"openai\"\n[models.openai]\napi = \"responses\"\nbase_url = \"http://{address}/v1\"\n"
            ),
            Self::Gemini => {
                format!("[models]\nllm = \"gemini\"\n[models.gemini]\nbase_url = \"http://{address}\"\n")
            }
            Self::Anthropic => {
                format!(
                    "[models]\nllm = \"anthropic\"\n[models.anthropic]\nbase_url = \"http://{address}\"\n"
                )
            }
        }
    }

    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    pub(crate) fn credential(self) -> (&'static str, String) {
        match self {
            Self::OpenAi => ("authorization", format!("Bearer {KEY}")),
            Self::Gemini => ("x-goog-api-key", KEY.to_owned()),
            Self::Anthropic => ("x-api-key", KEY.to_owned()),
        }
    }

    /// Returns the end of the URL of a question, and a pointer to its search tool.
    pub(crate) fn question(self) -> (&'static str, &'static str) {
        match self {
            Self::OpenAi => ("/v1/responses", "/tools/0/search_context_size"),
            Self::Gemini => (":streamGenerateContent?alt=sse", "/tools/0/googleSearch"),
            Self::Anthropic => ("/v1/messages", "/tools/0/name"),
        }
    }

    /// Answer with these pieces of text, after a search that read [`PAGE`].
    pub(crate) fn says(self, pieces: &[&str]) -> Answer {
        Answer::Stream([self.begin(), self.text(pieces), self.end()].concat(), End::Done)
    }

    /// Answer with these pieces of text, without a search.
    pub(crate) fn writes(self, pieces: &[&str]) -> Answer {
        let begin = self.begin().into_iter().filter(|event| !searches(event)).collect();
        Answer::Stream([begin, self.text(pieces), self.end()].concat(), End::Done)
    }

    /// Like [`Wire::says`], without the end.
    pub(crate) fn breaks_off(self, pieces: &[&str], end: End) -> Answer {
        Answer::Stream([self.begin(), self.text(pieces)].concat(), end)
    }

    fn begin(self) -> Vec<Value> {
        let action =
            json!({"type": "search", "query": "retry backoff", "sources": [{"type": "url", "url": PAGE}]});
        let call = |status: &str| json!({"type": "web_search_call", "id": "ws_1", "status": status, "action": action});
        let found =
            json!([{"type": "web_search_result", "url": PAGE, "title": "Backoff", "encrypted_content": "x"}]);
        match self {
            Self::OpenAi => vec![
                json!({"type": "response.created", "response": {"id": "r_1", "model": "gpt-test", "status": "in_progress"}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": call("in_progress")}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": call("completed")}),
            ],
            Self::Gemini => vec![],
            Self::Anthropic => vec![
                json!({"type": "message_start", "message": {"id": "m_1", "model": "claude-test", "content": [],
                       "usage": {"input_tokens": 1200, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0, "content_block":
                       {"type": "server_tool_use", "id": "s_1", "name": "web_search", "input": {}}}),
                json!({"type": "content_block_delta", "index": 0, "delta":
                       {"type": "input_json_delta", "partial_json": "{\"query\": \"retry backoff\"}"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "content_block_start", "index": 1, "content_block":
                       {"type": "web_search_tool_result", "tool_use_id": "s_1", "content": found}}),
                json!({"type": "content_block_stop", "index": 1}),
                json!({"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}}),
            ],
        }
    }

    fn text(self, pieces: &[&str]) -> Vec<Value> {
        let event = |piece: &&str| match self {
            Self::OpenAi => {
                json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1,
                                   "content_index": 0, "delta": piece})
            }
            Self::Gemini => {
                json!({"candidates": [{"content": {"role": "model", "parts": [{"text": piece}]}, "index": 0}],
                                   "modelVersion": "gemini-test"})
            }
            Self::Anthropic => json!({"type": "content_block_delta", "index": 2,
                                      "delta": {"type": "text_delta", "text": piece}}),
        };
        pieces.iter().map(event).collect()
    }

    fn end(self) -> Vec<Value> {
        match self {
            Self::OpenAi => vec![
                json!({"type": "response.output_text.annotation.added", "annotation":
                       {"type": "url_citation", "url": PAGE, "title": "Backoff", "start_index": 0, "end_index": 1}}),
                json!({"type": "response.completed", "response": {"id": "r_1", "model": "gpt-test", "status": "completed",
                       "output": [], "usage": {"input_tokens": 1200, "output_tokens": 340, "total_tokens": 1540}}}),
            ],
            Self::Gemini => vec![json!({
                "candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": "STOP", "index": 0,
                    "groundingMetadata": {"webSearchQueries": ["retry backoff"],
                        "groundingChunks": [{"web": {"uri": PAGE, "title": "example.org"}}]}}],
                "usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 340, "totalTokenCount": 1540},
                "modelVersion": "gemini-test"
            })],
            Self::Anthropic => vec![
                json!({"type": "content_block_stop", "index": 2}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 340}}),
                json!({"type": "message_stop"}),
            ],
        }
    }

    pub(crate) fn wrong_key(self) -> Answer {
        let body = match self {
            Self::OpenAi => json!({"error": {"message": format!("Incorrect API key provided: {KEY}."),
                                   "type": "invalid_request_error", "code": "invalid_api_key"}}),
            Self::Gemini => {
                json!({"error": {"code": 401, "message": "API key not valid.", "status": "UNAUTHENTICATED"}})
            }
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}})
            }
        };
        Answer::Whole("401 Unauthorized", "content-type: application/json\r\n", body.to_string())
    }
}

fn searches(event: &Value) -> bool {
    let kind = event.pointer("/item/type").or_else(|| event.pointer("/content_block/type"));
    let search = ["web_search_call", "server_tool_use", "web_search_tool_result"];
    kind.and_then(Value::as_str).is_some_and(|kind| search.contains(&kind))
}
