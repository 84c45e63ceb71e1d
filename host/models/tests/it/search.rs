//! Web search, refusals and model limits, in each provider's format.

use gatehouse_core::{
    FaultKind,
    ports::llm::{CompletionProgress, ModelPrompt},
};
use serde_json::json;

use crate::support::{Dialect, Does, Mock, ask, prompt};

fn find() -> ModelPrompt {
    ModelPrompt { web_search: true, ..prompt("How is rank stabilised LoRA scaled?") }
}

fn pages(answer: &gatehouse_core::ports::llm::ModelCompletion) -> Vec<(&str, Option<&str>)> {
    answer.sources.iter().map(|source| (source.url.as_str(), source.title.as_deref())).collect()
}

#[tokio::test]
async fn openai_gives_citations_and_sources() {
    let mock = Mock::script(vec![Does::says(include_str!("../data/openai-search.sse"))]).await;
    let (answer, steps) = ask(&Dialect::Responses.config(&mock.url), find()).await;
    let answer = answer.unwrap();
    let expected =
        [("https://blog.example/rslora", Some("rsLoRA explained")), ("https://arxiv.example/abs/1", None)];
    assert_eq!(pages(&answer), expected);
    let searching = [
        CompletionProgress::Searching(None),
        CompletionProgress::Searching(Some("rank stabilised LoRA".into())),
    ];
    assert_eq!(steps[..2], searching, "{steps:?}");
    assert_eq!(answer.model, "openai/gpt-5.4-mini-2026-03-17");
}

#[tokio::test]
async fn gemini_gives_what_it_is_grounded_on() {
    let mock = Mock::script(vec![Does::says(include_str!("../data/gemini-search.sse"))]).await;
    let (answer, steps) = ask(&Dialect::Gemini.config(&mock.url), find()).await;
    let answer = answer.unwrap();
    let page = |id: &str| format!("https://vertexaisearch.cloud.google.com/grounding-api-redirect/{id}");
    assert_eq!(pages(&answer), [(&*page("AAA"), Some("arxiv.org")), (&*page("BBB"), Some("blog.example"))]);
    assert_eq!(answer.tokens.map(|tokens| (tokens.input, tokens.output)), Some((52, 8)));
    assert_eq!(steps[0], CompletionProgress::Searching(None));
    assert!(steps.contains(&CompletionProgress::Searching(Some("rank stabilised LoRA".into()))), "{steps:?}");
}

#[tokio::test]
async fn anthropic_goes_on_after_a_pause() {
    let [paused, resumed] =
        [include_str!("../data/anthropic-paused.sse"), include_str!("../data/anthropic-resumed.sse")];
    let mock = Mock::script(vec![Does::says(paused), Does::says(resumed)]).await;
    let (answer, steps) = ask(&Dialect::Anthropic.config(&mock.url), find()).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "Scale by the root of the rank.");
    let expected = [
        ("https://blog.example/rslora", Some("rsLoRA explained")),
        ("https://arxiv.example/abs/1", Some("LoRA at scale")),
    ];
    assert_eq!(pages(&answer), expected);
    assert_eq!(answer.tokens.map(|tokens| (tokens.input, tokens.output)), Some((1000, 70)));
    assert_eq!(steps[0], CompletionProgress::Searching(Some("rank stabilised LoRA".into())));

    let seen = mock.seen();
    assert_eq!(seen.len(), 2);
    let message = &seen[1].body["messages"][1];
    assert_eq!(message["role"], "assistant");
    let search = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {"query": "rank stabilised LoRA"}});
    assert_eq!(message["content"][0], search);
    assert_eq!(message["content"].as_array().unwrap().len(), 2, "empty text is not sent back");
    assert_eq!(message["content"][1]["content"][0]["encrypted_content"], "ZW5j");
    assert_eq!(seen[0].body["tools"], seen[1].body["tools"]);

    // A model that pauses every time is abandoned.
    let mock = Mock::script(vec![Does::says(paused)]).await;
    let fault = Dialect::Anthropic.ask(&mock, find()).await.unwrap_err();
    assert_eq!((fault.kind, mock.seen().len()), (FaultKind::Internal, 5), "{fault:?}");
}

#[tokio::test]
async fn refusals_are_reported() {
    let chat = |delta: &str, reason: &str| {
        format!(r#"data: {{"model":"m","choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}"#)
    };
    let cases = [
        (
            Dialect::Responses,
            "data: {\"type\":\"response.refusal.delta\",\"delta\":\"I can\"}\n\ndata: \
             {\"type\":\"response.refusal.done\",\"refusal\":\"I can not help.\"}\n\n"
                .to_owned(),
            "I can not help.",
        ),
        (
            Dialect::Responses,
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Well\"}\n\ndata: \
             {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"content_filter\"}}}\n\n"
                .to_owned(),
            "filter",
        ),
        (
            Dialect::Chat,
            format!(
                "{}\n\n{}\n\n{}\n\n",
                chat(r#"{"refusal":"I can"}"#, "null"),
                chat(r#"{"refusal":" not help."}"#, "null"),
                chat("{}", "\"stop\"")
            ),
            "I can not help.",
        ),
        (
            Dialect::Gemini,
            "data: {\"promptFeedback\":{\"blockReason\":\"PROHIBITED_CONTENT\"},\"modelVersion\":\"m\"}\n\n".to_owned(),
            "PROHIBITED_CONTENT",
        ),
        (
            Dialect::Gemini,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Well\"}]},\"finishReason\":\"SAFETY\"}]}\n\n"
                .to_owned(),
            "SAFETY",
        ),
        (
            Dialect::Anthropic,
            "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":\
             {\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":null}},\"usage\":{\"output_tokens\":3}}\n\n"
                .to_owned(),
            "cyber",
        ),
    ];
    for (dialect, body, reason) in cases {
        let mock = Mock::script(vec![Does::says(body)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Denied, "{dialect:?}: {fault:?}");
        assert!(fault.message.contains("refused to answer") && fault.message.contains(reason), "{fault:?}");
        assert_eq!(mock.seen().len(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_token_limit_is_reported() {
    for dialect in Dialect::ALL {
        let whole = dialect.hello();
        let limited = match dialect {
            Dialect::Responses => {
                let event = "\"type\":\"response.completed\"";
                let details = "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}";
                let whole = whole.replace(event, "\"type\":\"response.incomplete\"");
                whole.replace("\"incomplete_details\":null", details)
            }
            Dialect::Chat => whole.replace("\"finish_reason\":\"stop\"", "\"finish_reason\":\"length\""),
            Dialect::Gemini => whole.replace("STOP", "MAX_TOKENS"),
            Dialect::Anthropic => whole.replace("end_turn", "max_tokens"),
            Dialect::Ollama => whole.replace("\"stop\"", "\"length\""),
        };
        let mock = Mock::script(vec![Does::says(limited.clone())]).await;
        let answer = dialect.ask(&mock, prompt("Greet.")).await.unwrap();
        assert_eq!(answer.text, "Hello world.", "{dialect:?}");
        assert_eq!(answer.cut_short.as_deref(), Some("the token limit was reached"), "{dialect:?}");
        assert_eq!(answer.tokens.map(|tokens| tokens.output), Some(34), "{dialect:?}");

        let thoughts = limited.replace("Hello", "").replace(" world.", "");
        let mock = Mock::script(vec![Does::says(thoughts)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Exhausted, "{dialect:?}: {fault:?}");
    }
}
