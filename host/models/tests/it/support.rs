//! A scriptable HTTP server, and the response formats of all providers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    Fault,
    http::Secret,
    ports::llm::{CompletionProgress, ModelCompletion, ModelPrompt, ReasoningDepth},
};
use gatehouse_models::{
    ModelsConfig,
    config::{LlmChoice, OpenAiApi, ProviderName, ProviderSettings, RetryPolicy},
};
use gatehouse_net::Backoff;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::Instant,
};

use crate::plain::models;

pub(crate) const KEY: &str = "sk-test-0123456789";

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// Action of the server for a request.
#[derive(Clone)]
pub(crate) enum Does {
    /// Responds with status, headers and body.
    Says(u16, Vec<(&'static str, String)>, String),
    /// Responds with 200 and this much of a body, then breaks the connection.
    Breaks(String),
    /// Responds with 200 and this much of a body, then sends no more.
    Stops(String),
    /// Closes the connection without a response.
    Closes,
    /// Sends nothing, and signals when the client disconnects.
    Waits(Arc<Notify>),
}

impl Does {
    pub(crate) fn says(body: impl Into<String>) -> Self {
        Self::Says(200, Vec::new(), body.into())
    }

    pub(crate) fn fails(status: u16, body: impl Into<String>) -> Self {
        Self::Says(status, Vec::new(), body.into())
    }
}

pub(crate) struct Mock {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Mock {
    /// Starts a server. `does` receives the request's number, from 0, and the request.
    pub(crate) async fn new(does: impl Fn(usize, &Seen) -> Does + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, does) = (Arc::clone(&seen), Arc::new(does));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (all, does) = (Arc::clone(&all), Arc::clone(&does));
                tokio::spawn(async move { serve(stream, &all, &*does).await });
            }
        });
        Self { url, seen }
    }

    /// Starts a server that performs these actions in turn and then repeats the last one.
    pub(crate) async fn script(script: Vec<Does>) -> Self {
        Self::new(move |number, _| script[number.min(script.len() - 1)].clone()).await
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, all: &Mutex<Vec<Seen>>, does: &(dyn Fn(usize, &Seen) -> Does + Sync)) {
    let Some(seen) = read(&mut stream).await else { return };
    let number = {
        let mut all = all.lock().unwrap();
        all.push(seen.clone());
        all.len() - 1
    };
    let begin = "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = |body: &str| format!("{begin}{:x}\r\n{body}\r\n", body.len());
    match does(number, &seen) {
        Does::Says(status, headers, body) => {
            let mut head =
                format!("HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
            headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Does::Breaks(body) => {
            let _ = stream.write_all(chunk(&body).as_bytes()).await;
            let _ = stream.shutdown().await;
        }
        Does::Stops(body) => {
            let _ = stream.write_all(chunk(&body).as_bytes()).await;
            let _ = stream.read(&mut [0]).await;
        }
        Does::Closes => {}
        Does::Waits(disconnect) => {
            let _ = stream.read(&mut [0]).await;
            disconnect.notify_one();
        }
    }
}

async fn read(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let (request, rest) = head.split_once("\r\n")?;
    let headers: BTreeMap<String, String> = rest
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    let path = request.split(' ').nth(1)?.to_owned();
    Some(Seen { path, headers, body: serde_json::from_slice(&body).ok()? })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Responses,
    Chat,
    Gemini,
    Anthropic,
    Ollama,
}

impl Dialect {
    pub(crate) const ALL: [Self; 5] =
        [Self::Responses, Self::Chat, Self::Gemini, Self::Anthropic, Self::Ollama];

    pub(crate) fn name(self) -> ProviderName {
        match self {
            Self::Responses | Self::Chat => ProviderName::OpenAi,
            Self::Gemini => ProviderName::Gemini,
            Self::Anthropic => ProviderName::Anthropic,
            Self::Ollama => ProviderName::Ollama,
        }
    }

    /// Returns a stream with `Hello world.` in two pieces, 12 input and 34 output tokens.
    pub(crate) fn hello(self) -> &'static str {
        match self {
            Self::Responses => include_str!("../data/openai-responses.sse"),
            Self::Chat => include_str!("../data/openai-chat.sse"),
            Self::Gemini => include_str!("../data/gemini.sse"),
            Self::Anthropic => include_str!("../data/anthropic.sse"),
            Self::Ollama => include_str!("../data/ollama.ndjson"),
        }
    }

    /// Returns that stream up to the first piece, and up to the middle of the second.
    pub(crate) fn cut(self) -> [String; 2] {
        let hello = self.hello();
        [r#""Hello""#, r#"" world.""#].map(|piece| hello[..hello.find(piece).unwrap()].to_owned())
    }

    /// Returns an error in the provider's format.
    pub(crate) fn error(self, status: u16, message: &str) -> String {
        match self {
            Self::Responses | Self::Chat => {
                let (kind, code) = match status {
                    401 => ("invalid_request_error", "\"invalid_api_key\""),
                    429 => ("requests", "\"rate_limit_exceeded\""),
                    _ => ("server_error", "null"),
                };
                format!(r#"{{"error":{{"message":"{message}","type":"{kind}","param":null,"code":{code}}}}}"#)
            }
            Self::Gemini => {
                let (code, name) = match status {
                    401 => (400, "INVALID_ARGUMENT"),
                    429 => (429, "RESOURCE_EXHAUSTED"),
                    _ => (status, "INTERNAL"),
                };
                let details = if status == 401 {
                    r#"[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]"#
                } else {
                    "[]"
                };
                format!(
                    r#"{{"error":{{"code":{code},"message":"{message}","status":"{name}","details":{details}}}}}"#
                )
            }
            Self::Anthropic => {
                let kind = match status {
                    401 => "authentication_error",
                    429 => "rate_limit_error",
                    529 => "overloaded_error",
                    _ => "api_error",
                };
                format!(
                    r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
                )
            }
            Self::Ollama => format!(r#"{{"error":"{message}"}}"#),
        }
    }

    /// Returns the status for an invalid key.
    pub(crate) fn wrong_key(self) -> u16 {
        if self == Self::Gemini { 400 } else { 401 }
    }

    pub(crate) fn config(self, url: &str) -> ModelsConfig {
        let settings = ProviderSettings {
            key: Some(Secret::new(KEY)),
            base_url: Some(url.to_owned()),
            ..ProviderSettings::default()
        };
        let mut config = ModelsConfig {
            llm: LlmChoice::Provider(self.name(), None),
            retry: RetryPolicy {
                times: 3,
                backoff: Backoff { first: Duration::from_millis(1), longest: Duration::from_millis(2) },
            },
            ..ModelsConfig::default()
        };
        match self.name() {
            ProviderName::OpenAi => config.openai = settings,
            ProviderName::Gemini => config.gemini = settings,
            ProviderName::Anthropic => config.anthropic = settings,
            ProviderName::Ollama => config.ollama = settings,
        }
        config.openai_api = if self == Self::Chat { OpenAiApi::Chat } else { OpenAiApi::Responses };
        config
    }

    pub(crate) async fn ask(self, mock: &Mock, prompt: ModelPrompt) -> Result<ModelCompletion, Fault> {
        ask(&self.config(&mock.url), prompt).await.0
    }
}

/// Sends a prompt and returns the result and the progress reports.
pub(crate) async fn ask(
    config: &ModelsConfig,
    prompt: ModelPrompt,
) -> (Result<ModelCompletion, Fault>, Vec<CompletionProgress>) {
    let steps = Mutex::new(Vec::new());
    let models = models(config).unwrap();
    let answer = models.llm.complete(prompt, &|step| steps.lock().unwrap().push(step)).await;
    (answer, steps.into_inner().unwrap())
}

pub(crate) fn prompt(text: &str) -> ModelPrompt {
    ModelPrompt {
        system: None,
        text: text.to_owned(),
        schema: None,
        max_tokens: None,
        temperature: None,
        web_search: false,
        depth: ReasoningDepth::Light,
        deadline: Instant::now() + Duration::from_secs(30),
    }
}
