//! Embedding providers.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Fault, FaultKind,
    ports::embed::{EmbeddingPurpose, EmbeddingVector},
};
use gatehouse_models::{
    ModelsConfig,
    config::{EmbeddingChoice, ProviderName},
};
use serde_json::{Value, json};

use crate::{
    plain::models,
    support::{Dialect, Does, KEY, Mock, Seen},
};

const ALL: [Dialect; 3] = [Dialect::Chat, Dialect::Gemini, Dialect::Ollama];

fn config(dialect: Dialect, url: &str) -> ModelsConfig {
    ModelsConfig { embedding: EmbeddingChoice::Provider(dialect.name(), None), ..dialect.config(url) }
}

async fn embed(dialect: Dialect, mock: &Mock, texts: &[&str]) -> Result<Vec<EmbeddingVector>, Fault> {
    let models = models(&config(dialect, &mock.url)).unwrap();
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    models.embedder.embed(&texts, EmbeddingPurpose::Document).await
}

/// Returns the texts of a request.
fn texts(seen: &Seen) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match seen.body.get("requests") {
        Some(requests) => {
            let requests = requests.as_array().unwrap().iter();
            requests.map(|request| text(&request["content"]["parts"][0]["text"])).collect()
        }
        None => seen.body["input"].as_array().unwrap().iter().map(text).collect(),
    }
}

/// Returns a response in the provider's form. OpenAI's order differs from that of the texts.
fn answer(dialect: Dialect, vectors: &[Value]) -> String {
    let answer = match dialect {
        Dialect::Gemini => {
            json!({"embeddings": vectors.iter().map(|values| json!({"values": values})).collect::<Vec<_>>()})
        }
        Dialect::Ollama => {
            json!({"model": "nomic-embed-text", "embeddings": vectors, "total_duration": 14143917, "prompt_eval_count": 8})
        }
        _ => {
            let one =
                |(index, embedding)| json!({"object": "embedding", "index": index, "embedding": embedding});
            let data: Vec<Value> = vectors.iter().enumerate().rev().map(one).collect();
            json!({"object": "list", "data": data, "model": "text-embedding-3-small",
                "usage": {"prompt_tokens": 8, "total_tokens": 8}})
        }
    };
    answer.to_string()
}

/// Responds with vectors that encode the number in each text.
fn numbered(dialect: Dialect, seen: &Seen) -> Does {
    let vector = |text: &String| {
        let number: f64 = text.rsplit(' ').next().unwrap().parse().unwrap();
        json!([number.cos() * 3.0, number.sin() * 3.0])
    };
    Does::says(answer(dialect, &texts(seen).iter().map(vector).collect::<Vec<_>>()))
}

#[tokio::test]
async fn many_texts_are_sent_in_batches_and_come_back_in_order() {
    for dialect in ALL {
        let mock = Mock::new(move |_, seen| numbered(dialect, seen)).await;
        let many: Vec<String> =
            (0..250).map(|n| if n % 10 == 3 { " \n".into() } else { format!("text {n}") }).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let vectors = embed(dialect, &mock, &many).await.unwrap();
        for (number, vector) in vectors.iter().enumerate() {
            if number % 10 == 3 {
                assert_eq!(*vector, None, "a blank text has no vector");
                continue;
            }
            let vector = vector.as_ref().unwrap();
            let expected = [(number as f32).cos(), (number as f32).sin()];
            assert!(vector.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-4), "{dialect:?} {number}");
        }
        let sizes: Vec<usize> = mock.seen().iter().map(|seen| texts(seen).len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 225);
        assert!(sizes.iter().all(|size| *size <= 100) && sizes.len() > 1, "{dialect:?}: {sizes:?}");
        let long = format!("{} 1", "word ".repeat(20_000));
        let mock =
            Mock::new(move |_, seen| Does::says(answer(dialect, &vec![json!([1, 0]); texts(seen).len()])))
                .await;
        embed(dialect, &mock, &[long.as_str(); 20]).await.unwrap();
        for seen in mock.seen() {
            let bytes: usize = texts(&seen).iter().map(String::len).sum();
            assert!(bytes <= 512 << 10, "{dialect:?}: {bytes}");
        }
        let mock = Mock::script(vec![Does::Closes]).await;
        assert_eq!(embed(dialect, &mock, &["", "\t"]).await.unwrap(), [None, None]);
        assert!(mock.seen().is_empty(), "there was nothing to ask");
    }
}

#[tokio::test]
async fn requests_are_those_of_the_provider() {
    for (dialect, path, header, body) in [
        (
            Dialect::Chat,
            "/embeddings",
            ("authorization", format!("Bearer {KEY}")),
            json!({"model": "text-embedding-3-small", "input": ["a text"], "encoding_format": "float"}),
        ),
        (
            Dialect::Gemini,
            "/v1beta/models/gemini-embedding-001:batchEmbedContents",
            ("x-goog-api-key", KEY.to_owned()),
            json!({"requests": [{"model": "models/gemini-embedding-001", "content": {"parts": [{"text": "a text"}]},
                "taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 768}]}),
        ),
        (
            Dialect::Ollama,
            "/api/embed",
            ("authorization", format!("Bearer {KEY}")),
            json!({"model": "nomic-embed-text", "input": ["search_document: a text"], "truncate": true}),
        ),
    ] {
        let mock = Mock::script(vec![Does::says(answer(dialect, &[json!([0.6, 0.8])]))]).await;
        assert_eq!(embed(dialect, &mock, &["a text"]).await.unwrap(), [Some(vec![0.6, 0.8])]);
        let seen = mock.seen().remove(0);
        assert_eq!((seen.path.as_str(), &seen.headers[header.0], &seen.body), (path, &header.1, &body));
        let models = models(&config(dialect, &mock.url)).unwrap();
        models.embedder.embed(&["a text".into()], EmbeddingPurpose::Query).await.unwrap();
        let asked = mock.seen().remove(1).body.to_string();
        match dialect {
            Dialect::Gemini => assert!(asked.contains("RETRIEVAL_QUERY"), "{asked}"),
            Dialect::Ollama => assert!(asked.contains("search_query: a text"), "{asked}"),
            _ => assert_eq!(asked, seen.body.to_string()),
        }
    }
}

#[tokio::test]
async fn long_texts_are_cut_to_what_the_model_reads() {
    let mock = Mock::script(vec![Does::says(answer(Dialect::Chat, &[json!([1.0])]))]).await;
    embed(Dialect::Chat, &mock, &[&"数据库查询 ".repeat(9_000)]).await.unwrap();
    let sent = texts(&mock.seen()[0]).remove(0);
    assert_eq!(sent.chars().count(), 8191, "a character is a token here");
}

#[tokio::test]
async fn faults_are_reported_and_retried() {
    for dialect in ALL {
        let good = Does::says(answer(dialect, &[json!([1.0, 0.0])]));
        let [busy, fails] = [429, 500].map(|status| {
            Does::Says(status, vec![("retry-after", "0".to_owned())], dialect.error(status, "Not now."))
        });
        let mock = Mock::script(vec![busy, fails.clone(), Does::Closes, good.clone()]).await;
        assert_eq!(embed(dialect, &mock, &["a"]).await.unwrap(), [Some(vec![1.0, 0.0])], "{dialect:?}");
        assert_eq!(mock.seen().len(), 4);

        let mock = Mock::script(vec![fails]).await;
        let fault = embed(dialect, &mock, &["a"]).await.unwrap_err();
        assert_eq!((fault.kind, mock.seen().len()), (FaultKind::Unavailable, 4), "{fault:?}");

        let echo = dialect.error(401, &format!("wrong: {KEY}"));
        let mock = Mock::script(vec![Does::fails(dialect.wrong_key(), echo)]).await;
        let fault = embed(dialect, &mock, &["a"]).await.unwrap_err();
        assert_eq!((fault.kind, mock.seen().len()), (FaultKind::Denied, 1), "{fault:?}");
        assert!(!format!("{fault:?}").contains(KEY) && fault.message.contains("[redacted]"), "{fault:?}");

        let whole = answer(dialect, &[json!([1.0, 0.0])]);
        let mock = Mock::script(vec![Does::Breaks(whole[..20].to_owned()), good]).await;
        assert!(embed(dialect, &mock, &["a"]).await.unwrap()[0].is_some(), "{dialect:?}");
    }
}

#[tokio::test]
async fn what_holds_no_vectors_is_a_fault() {
    for dialect in ALL {
        let wrong = [
            "<html>".to_owned(),
            "{}".to_owned(),
            answer(dialect, &[]),
            answer(dialect, &[json!([1.0]), json!([1.0]), json!([1.0])]),
            answer(dialect, &[json!([1.0, 2.0]), json!([1.0])]),
            answer(dialect, &[json!([1.0, null]), json!([1.0, 1.0])]),
            answer(dialect, &[json!([]), json!([])]),
            answer(dialect, &[json!([1e300]), json!([1.0])]),
            answer(dialect, &[json!("AAAA"), json!("AAAA")]),
        ];
        for body in wrong {
            let mock = Mock::script(vec![Does::says(body.clone())]).await;
            let fault = embed(dialect, &mock, &["a", "b"]).await.unwrap_err();
            assert_eq!(fault.kind, FaultKind::Internal, "{dialect:?} {body}: {fault:?}");
            assert!(fault.message.contains(&mock.url), "{fault:?}");
        }
        let zeros =
            Mock::script(vec![Does::says(answer(dialect, &[json!([0.0, 0.0]), json!([0, 2])]))]).await;
        assert_eq!(embed(dialect, &zeros, &["a", "b"]).await.unwrap(), [None, Some(vec![0.0, 1.0])]);
        let large = Mock::script(vec![Does::says(" ".repeat(17 << 20))]).await;
        let fault = embed(dialect, &large, &["a"]).await.unwrap_err();
        assert!(fault.message.contains("more than 16 MiB"), "{fault:?}");
    }
}

#[tokio::test]
async fn a_provider_that_is_silent_is_not_waited_for() {
    for dialect in ALL {
        let mock = Mock::script(vec![Does::Waits(Arc::default())]).await;
        let mut config = config(dialect, &mock.url);
        match dialect.name() {
            ProviderName::OpenAi => config.openai.timeout = Duration::from_millis(100),
            ProviderName::Gemini => config.gemini.timeout = Duration::from_millis(100),
            _ => config.ollama.timeout = Duration::from_millis(100),
        }
        let models = models(&config).unwrap();
        let fault = models.embedder.embed(&["a".into()], EmbeddingPurpose::Query).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::TimedOut, "{fault:?}");
    }
}
