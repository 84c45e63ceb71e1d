//! The exact requests of each provider.

use gatehouse_core::{
    FaultKind,
    ports::llm::{ModelPrompt, ReasoningDepth},
};
use gatehouse_models::config::LlmChoice;
use serde_json::{Map, Value, json};

use crate::support::{Dialect, Does, KEY, Mock, Seen, ask, prompt};

fn schema() -> Map<String, Value> {
    let schema = json!({"type": "object", "properties": {"order": {"type": "array", "items": {"type": "integer"}}},
        "required": ["order"], "additionalProperties": false});
    schema.as_object().unwrap().clone()
}

fn full() -> ModelPrompt {
    ModelPrompt {
        system: Some("Be brief.".into()),
        schema: Some(schema()),
        max_tokens: Some(500),
        temperature: Some(0.5),
        depth: ReasoningDepth::Deep,
        ..prompt("Rank.")
    }
}

async fn sent(dialect: Dialect, model: Option<&str>, prompt: ModelPrompt) -> Seen {
    let mock = Mock::script(vec![Does::says(dialect.hello())]).await;
    let mut config = dialect.config(&mock.url);
    config.llm = LlmChoice::Provider(dialect.name(), model.map(str::to_owned));
    ask(&config, prompt).await.0.unwrap();
    mock.seen().remove(0)
}

#[tokio::test]
async fn responses() {
    let seen = sent(Dialect::Responses, None, prompt("Greet.")).await;
    assert_eq!(
        (seen.path.as_str(), seen.headers["authorization"].as_str()),
        ("/responses", &*format!("Bearer {KEY}"))
    );
    let plain = json!({"model": "gpt-5.4-mini", "input": "Greet.", "stream": true, "store": false,
        "reasoning": {"effort": "low"}});
    assert_eq!(seen.body, plain);
    let seen = sent(Dialect::Responses, None, full()).await;
    let expected = json!({"model": "gpt-5.4-mini", "input": "Rank.", "stream": true, "store": false,
        "instructions": "Be brief.", "max_output_tokens": 500, "reasoning": {"effort": "high"},
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": true, "schema": schema()}}});
    assert_eq!(seen.body, expected);
    let seen = sent(Dialect::Responses, Some("gpt-4.1"), full()).await;
    assert_eq!((&seen.body["temperature"], seen.body.get("reasoning")), (&json!(0.5), None));
    let search = ModelPrompt { web_search: true, ..prompt("Find.") };
    let seen = sent(Dialect::Responses, None, search).await;
    let expected = json!({"model": "gpt-5.4-mini", "input": "Find.", "stream": true, "store": false,
        "reasoning": {"effort": "medium"}, "tools": [{"type": "web_search", "search_context_size": "medium"}],
        "include": ["web_search_call.action.sources"]});
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn chat() {
    let seen = sent(Dialect::Chat, Some("qwen3-8b"), full()).await;
    assert_eq!(seen.path, "/chat/completions");
    let expected = json!({"model": "qwen3-8b", "messages": [{"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rank."}], "stream": true, "stream_options": {"include_usage": true},
        "max_tokens": 500, "temperature": 0.5, "response_format": {"type": "json_schema",
        "json_schema": {"name": "answer", "strict": true, "schema": schema()}}});
    assert_eq!(seen.body, expected);
    let open = ModelPrompt { schema: json!({"type": "object"}).as_object().cloned(), ..prompt("Rank.") };
    let seen = sent(Dialect::Chat, None, open).await;
    assert_eq!(seen.body["response_format"]["json_schema"]["strict"], false);
}

#[tokio::test]
async fn gemini() {
    let seen = sent(Dialect::Gemini, None, full()).await;
    assert_eq!(seen.path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(seen.headers["x-goog-api-key"], KEY);
    let expected = json!({"contents": [{"role": "user", "parts": [{"text": "Rank."}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]}, "generationConfig": {"maxOutputTokens": 500,
        "temperature": 0.5, "thinkingConfig": {"thinkingBudget": 24576}, "responseMimeType": "application/json",
        "responseJsonSchema": schema()}});
    assert_eq!(seen.body, expected);
    let search = ModelPrompt { web_search: true, schema: Some(schema()), ..prompt("Find.") };
    let seen = sent(Dialect::Gemini, Some("gemini-2.0-flash"), search).await;
    assert_eq!(seen.body["tools"], json!([{"googleSearch": {}}]));
    assert_eq!(seen.body.get("generationConfig"), None, "a schema and a tool exclude each other");
    let text = seen.body["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Find.\n\nAnswer with one JSON object") && text.contains(r#""order""#),
        "{text}"
    );
}

#[tokio::test]
async fn anthropic() {
    let seen = sent(Dialect::Anthropic, None, full()).await;
    assert_eq!((seen.path.as_str(), seen.headers["x-api-key"].as_str()), ("/v1/messages", KEY));
    assert_eq!(seen.headers["anthropic-version"], "2026-10-21");
    let expected = json!({"model": "claude-sonnet-5-5", "max_tokens": 500, "stream": true, "system": "Be brief.",
        "messages": [{"role": "user", "content": "Rank."}],
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema()}}});
    assert_eq!(seen.body, expected);
    let search = ModelPrompt { web_search: true, schema: Some(schema()), ..prompt("Find.") };
    let seen = sent(Dialect::Anthropic, Some("claude-haiku-4-5"), search).await;
    assert_eq!(
        seen.body["tools"],
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}])
    );
    assert_eq!((seen.body.get("output_config"), &seen.body["max_tokens"]), (None, &json!(16384)));
    assert!(seen.body["messages"][0]["content"].as_str().unwrap().contains("JSON Schema"));

    let mock = Mock::script(vec![Does::says(Dialect::Anthropic.hello())]).await;
    let mut config = Dialect::Anthropic.config(&mock.url);
    config.anthropic.api_version = Some("2023-06-01".into());
    ask(&config, ModelPrompt { temperature: Some(1.5), ..prompt("Greet.") }).await.0.unwrap();
    let seen = mock.seen().remove(0);
    assert_eq!(
        (seen.headers["anthropic-version"].as_str(), &seen.body["temperature"]),
        ("2023-06-01", &json!(1.0))
    );
}

#[tokio::test]
async fn ollama() {
    let seen = sent(Dialect::Ollama, None, full()).await;
    assert_eq!(seen.path, "/api/chat");
    let expected = json!({"model": "llama3.2", "messages": [{"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Rank."}], "stream": true, "format": schema(),
        "options": {"num_predict": 500, "temperature": 0.5}});
    assert_eq!(seen.body, expected);
}

#[tokio::test]
async fn an_object_is_found_in_what_is_written_around_it() {
    for dialect in Dialect::ALL {
        let written = dialect
            .hello()
            .replace("Hello", "Sure:\\n```json\\n{\\\"order\\\": ")
            .replace(" world.", "[1]}\\n```");
        let mock = Mock::script(vec![Does::says(written.clone())]).await;
        let answer =
            dialect.ask(&mock, ModelPrompt { schema: Some(schema()), ..prompt("Rank.") }).await.unwrap();
        assert_eq!(answer.text, r#"{"order": [1]}"#, "{dialect:?}");
        let mock = Mock::script(vec![Does::says(written)]).await;
        assert!(dialect.ask(&mock, prompt("Rank.")).await.unwrap().text.starts_with("Sure:"), "{dialect:?}");
    }
}

#[tokio::test]
async fn those_that_cannot_search_say_so() {
    for dialect in [Dialect::Chat, Dialect::Ollama] {
        let mock = Mock::script(vec![Does::says(dialect.hello())]).await;
        let fault =
            dialect.ask(&mock, ModelPrompt { web_search: true, ..prompt("Find.") }).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
        assert!(fault.hint.unwrap().contains("GEMINI_API_KEY"));
        assert!(mock.seen().is_empty());
    }
}
