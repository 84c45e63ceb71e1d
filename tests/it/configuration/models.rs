//! Missing models: the start names each gate that needs one, and the suggested fix works. A key goes only to the server
//! that the operator configured for it.

use serde_json::json;

use super::{says, served};
use crate::support::{Place, server::Server};

const RESEARCH: &str = "[gates.research]\ngrants = [\"models\"]\n[presets.full]\ngates.research = {}\n";

fn place(models: &str) -> Place {
    Place::with(&format!("{models}{RESEARCH}"), &["research"])
}

fn advice(models: &str, environment: &[(&str, &str)]) -> (String, String) {
    let place = place(models);
    let mut client = served(&place, &[], environment);
    let error = client.fails("research_idea", json!({"query": "retries"}));
    (error, client.log())
}

#[test]
fn a_gate_that_asks_a_model_where_none_is_set_up_is_reported_at_once() {
    let place = place("");
    let any = "gate research requests language models: no language model is configured. \
               Set one of OPENAI_API_KEY, GEMINI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST.";
    says(&served(&place, &[], &[]).log_with("language model"), &[any]);
    says(&place.run(&["doctor"]).stdout(), &[&format!("warn  gates: {any}")]);
    says(&place.run(&["status"]).stdout(), &[any]);
    assert_eq!(place.run(&["status", "--json"]).json()["lacks"], json!([any]));
    let quiet = Place::with("[presets.full]\ngates.echo = {}\n", &["echo"]);
    assert_eq!(quiet.run(&["status", "--json"]).json()["lacks"], json!([]));
}

#[test]
fn advice_for_the_web_never_names_what_cannot_search_it() {
    let (error, _) = advice("", &[]);
    says(&error, &["Set one of OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY."]);
    let (error, log) = advice("", &[("OLLAMA_HOST", "127.0.0.1:9")]);
    says(
        &error,
        &["ollama/llama3.2 cannot search the web", "OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY."],
    );
    says(&log, &["gate research requests language models: No model searches the web."]);
    let quiet =
        Place::with("[gates.idea]\ngrants = [\"models\"]\n[presets.full]\ngates.idea = {}\n", &["idea"]);
    let mut command = quiet.command(&["status", "--json"]);
    let output = command.env("OLLAMA_HOST", "127.0.0.1:9").output().expect("run gatehouse");
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(status["lacks"], json!([]), "a gate that orders pages wants no web");
    let (error, _) = advice("[models]\nllm = \"ollama\"\n", &[]);
    says(&error, &["choose openai, gemini or anthropic as llm in [models]"]);
    assert!(!error.contains("OLLAMA_HOST"), "{error}");
    let (error, _) =
        advice("", &[("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"), ("OPENAI_API_KEY", "sk-0123456789")]);
    says(&error, &["cannot search the web", "api = \"responses\" under [models.openai] in presets.toml"]);
    assert!(!error.contains("OPENAI_API_KEY"), "that is set already: {error}");
}

#[test]
fn no_key_goes_to_a_server_that_the_file_names_unless_its_block_names_the_variable() {
    let server = Server::start();
    let block = format!("[models.openai]\napi = \"responses\"\nbase_url = \"{}\"\n", server.url("/v1"));
    let key = [("OPENAI_API_KEY", "sk-0123456789abcdef")];
    let (_, log) = advice(&block, &key);
    assert!(!server.seen().is_empty(), "it was asked: {log}");
    for seen in server.seen() {
        assert_eq!(seen.header("authorization"), None, "{seen:?}");
    }
    let doctor = place(&block);
    let mut command = doctor.command(&["doctor"]);
    let output = command.envs(key).output().expect("run gatehouse");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    says(&stdout, &["warn  [models.openai]: no key is sent", "write api_key = \"${OPENAI_API_KEY}\""]);

    advice(&format!("{block}api_key = \"${{OPENAI_API_KEY}}\"\n"), &key);
    let last = server.seen().pop().expect("a request");
    assert_eq!(last.header("authorization"), Some("Bearer sk-0123456789abcdef"));
}
