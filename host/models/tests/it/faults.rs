//! Failures of language models.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{FaultKind, ports::llm::CompletionProgress};
use tokio::{sync::Notify, time::Instant};

use crate::{
    plain::models,
    support::{Dialect, Does, KEY, Mock, ask, prompt},
};

#[tokio::test]
async fn a_whole_answer_is_whole() {
    for dialect in Dialect::ALL {
        let mock = Mock::script(vec![Does::says(dialect.hello())]).await;
        let (answer, steps) = ask(&dialect.config(&mock.url), prompt("Greet.")).await;
        let answer = answer.unwrap();
        assert_eq!(answer.text, "Hello world.", "{dialect:?}");
        assert_eq!(answer.cut_short, None, "{dialect:?}");
        assert_eq!(answer.tokens.map(|tokens| (tokens.input, tokens.output)), Some((12, 34)), "{dialect:?}");
        assert!(answer.model.starts_with(dialect.name().id()), "{}", answer.model);
        assert!(answer.sources.is_empty());
        assert_eq!(steps.first(), Some(&CompletionProgress::Writing(5)), "{dialect:?}");
        assert_eq!(steps.last(), Some(&CompletionProgress::Writing(12)), "{dialect:?}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_reported_and_not_shown() {
    for dialect in Dialect::ALL {
        let body = dialect.error(401, &format!("Incorrect API key provided: {KEY}"));
        let mock = Mock::script(vec![Does::fails(dialect.wrong_key(), body)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Denied, "{dialect:?}: {fault:?}");
        assert!(fault.message.contains(&mock.url) && fault.message.contains("[redacted]"), "{fault:?}");
        assert!(fault.message.contains(dialect.name().title()), "{fault:?}");
        assert!(fault.hint.as_ref().unwrap().contains(dialect.name().variable()), "{fault:?}");
        assert!(!format!("{fault:?}").contains(KEY), "{fault:?}");
        assert_eq!(mock.seen().len(), 1, "{dialect:?}: a wrong key does not get better");
    }
}

#[tokio::test]
async fn too_many_requests_are_waited_out() {
    for dialect in Dialect::ALL {
        let busy = |after: &str| {
            Does::Says(429, vec![("retry-after", after.to_owned())], dialect.error(429, "Slow down."))
        };
        let past = "Sun, 06 Nov 1994 08:49:37 GMT";
        let mock = Mock::script(vec![busy("0"), busy(past), Does::says(dialect.hello())]).await;
        assert_eq!(dialect.ask(&mock, prompt("Greet.")).await.unwrap().text, "Hello world.");
        assert_eq!(mock.seen().len(), 3, "{dialect:?}");

        let mock = Mock::script(vec![busy("3600")]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Exhausted, "{fault:?}");
        assert!(fault.retryable && fault.message.contains("asks to wait 3600 s"), "{fault:?}");
        assert!(fault.message.contains("Slow down"), "{fault:?}");
        assert_eq!(mock.seen().len(), 1, "{dialect:?}");
    }
}

#[tokio::test]
async fn an_empty_account_is_not_waited_for() {
    let body = r#"{"error":{"message":"You exceeded your current quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#;
    let mock = Mock::script(vec![Does::fails(429, body)]).await;
    let fault = Dialect::Responses.ask(&mock, prompt("Greet.")).await.unwrap_err();
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Exhausted, false), "{fault:?}");
    assert_eq!(mock.seen().len(), 1);
}

#[tokio::test]
async fn faults_of_the_provider_are_tried_again() {
    for dialect in Dialect::ALL {
        for status in [500, 502, 503, 529] {
            let fails = Does::fails(status, dialect.error(status, "Oops."));
            let mock = Mock::script(vec![fails.clone(), fails, Does::says(dialect.hello())]).await;
            assert_eq!(dialect.ask(&mock, prompt("Greet.")).await.unwrap().text, "Hello world.");
            assert_eq!(mock.seen().len(), 3, "{dialect:?}");
        }
        let mock = Mock::script(vec![Does::fails(500, "<html>Oops</html>")]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true), "{fault:?}");
        assert!(fault.message.contains("tried 4 times"), "{fault:?}");
        assert_eq!(mock.seen().len(), 4, "{dialect:?}");
    }
}

#[tokio::test]
async fn an_unknown_model_a_bad_request_and_a_redirect_say_what_to_do() {
    for dialect in Dialect::ALL {
        for (status, kind) in
            [(404, FaultKind::Unavailable), (422, FaultKind::Internal), (302, FaultKind::Unavailable)]
        {
            let mock = Mock::script(vec![Does::fails(status, r#"{"error":{"message":"No."}}"#)]).await;
            let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
            assert_eq!((fault.kind, fault.retryable), (kind, false), "{dialect:?}: {fault:?}");
            assert!(fault.hint.is_some());
            assert_eq!(mock.seen().len(), 1, "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn what_is_no_answer_is_a_fault() {
    for dialect in Dialect::ALL {
        let event = if dialect == Dialect::Ollama { "not JSON\n" } else { "data: not JSON\n\n" };
        for body in ["<html><body>Welcome!</body></html>\n", event, "data: {}\n\n"] {
            let mock = Mock::script(vec![Does::says(format!("{body}{body}"))]).await;
            let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
            let kinds = [FaultKind::Internal, FaultKind::Unavailable];
            assert!(kinds.contains(&fault.kind), "{dialect:?}: {fault:?}");
            assert!(fault.message.contains(&mock.url), "{fault:?}");
        }
        // Events without text.
        let silent = dialect.hello().replace("Hello", "").replace(" world.", "");
        let mock = Mock::script(vec![Does::says(silent)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Internal, "{dialect:?}: {fault:?}");
        assert!(fault.message.contains("no text"), "{fault:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_before_a_word_is_asked_for_again() {
    for dialect in Dialect::ALL {
        let [before, _] = dialect.cut();
        let script = vec![
            Does::Breaks(before.clone()),
            Does::Closes,
            Does::says(before.clone()),
            Does::says(dialect.hello()),
        ];
        let mock = Mock::script(script).await;
        let answer = dialect.ask(&mock, prompt("Greet.")).await.unwrap();
        assert_eq!((answer.text.as_str(), answer.cut_short), ("Hello world.", None), "{dialect:?}");
        assert_eq!(mock.seen().len(), 4);

        let mock = Mock::script(vec![Does::Breaks(before)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
        assert!(fault.message.contains("ended the response early"), "{fault:?}");
        assert_eq!(mock.seen().len(), 4);
    }
}

#[tokio::test]
async fn a_stream_that_breaks_later_keeps_the_received_text() {
    for dialect in Dialect::ALL {
        let [_, middle] = dialect.cut();
        for does in [Does::Breaks(middle.clone()), Does::says(middle)] {
            let mock = Mock::script(vec![does]).await;
            let answer = dialect.ask(&mock, prompt("Greet.")).await.unwrap();
            assert_eq!(answer.text, "Hello", "{dialect:?}");
            let reason = answer.cut_short.unwrap();
            assert!(reason.contains("ended the response early") && !reason.contains(KEY), "{reason}");
            assert_eq!(mock.seen().len(), 1, "{dialect:?}");
        }
    }
}

#[tokio::test]
async fn the_deadline_holds_and_keeps_the_received_text() {
    for dialect in Dialect::ALL {
        let soon = || {
            let mut prompt = prompt("Greet.");
            prompt.deadline = Instant::now() + Duration::from_millis(200);
            prompt
        };
        let mock = Mock::script(vec![Does::Waits(Arc::default())]).await;
        let fault = dialect.ask(&mock, soon()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::TimedOut, "{dialect:?}: {fault:?}");

        let [before, middle] = dialect.cut();
        let mock = Mock::script(vec![Does::Stops(before)]).await;
        let fault = dialect.ask(&mock, soon()).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::TimedOut, "{dialect:?}: {fault:?}");

        let mock = Mock::script(vec![Does::Stops(middle)]).await;
        let answer = dialect.ask(&mock, soon()).await.unwrap();
        assert_eq!(answer.text, "Hello", "{dialect:?}");
        assert!(answer.cut_short.unwrap().contains("in time"));
    }
}

#[tokio::test]
async fn silence_is_not_waited_out_for_ever() {
    for dialect in Dialect::ALL {
        let mock =
            Mock::script(vec![Does::Waits(Arc::default()), Does::Stops(dialect.cut()[0].clone())]).await;
        let mut config = dialect.config(&mock.url);
        for settings in [&mut config.openai, &mut config.gemini, &mut config.anthropic, &mut config.ollama] {
            settings.timeout = Duration::from_millis(60);
        }
        let fault = ask(&config, prompt("Greet.")).await.0.unwrap_err();
        assert_eq!(fault.kind, FaultKind::TimedOut, "{dialect:?}: {fault:?}");
        assert!(fault.message.contains("was silent for 0.06 s"), "{fault:?}");
        assert_eq!(mock.seen().len(), 4, "{dialect:?}");
    }
}

#[tokio::test]
async fn an_unreachable_provider_is_reported() {
    for dialect in Dialect::ALL {
        // Bind and release the port, so that no process listens on it.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = dialect.config(&format!("http://127.0.0.1:{port}"));
        let fault = ask(&config, prompt("Greet.")).await.0.unwrap_err();
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true), "{fault:?}");
        assert!(fault.message.contains("cannot be reached"), "{fault:?}");
    }
}

#[tokio::test]
async fn dropping_the_question_ends_the_request() {
    for dialect in Dialect::ALL {
        let disconnect = Arc::new(Notify::new());
        let request = Arc::new(Notify::new());
        let (on_disconnect, on_request) = (Arc::clone(&disconnect), Arc::clone(&request));
        let mock = Mock::new(move |_, _| {
            on_request.notify_one();
            Does::Waits(Arc::clone(&on_disconnect))
        })
        .await;
        let models = models(&dialect.config(&mock.url)).unwrap();
        let question = tokio::spawn(async move { models.llm.complete(prompt("Greet."), &|_| {}).await });
        request.notified().await;
        question.abort();
        disconnect.notified().await;
    }
}

#[tokio::test]
async fn errors_in_the_middle_of_a_stream_are_heard() {
    for dialect in Dialect::ALL {
        let error = dialect.error(529, "Overloaded");
        let event = match dialect {
            Dialect::Responses => r#"data: {"type":"error","code":"server_error","message":"Overloaded","param":null,"sequence_number":3}"#.to_owned(),
            Dialect::Ollama => error,
            _ => format!("data: {error}"),
        };
        let [before, _] = dialect.cut();
        let whole = &before[..before.rfind("\n\n").map_or(0, |at| at + 2)];
        let mock =
            Mock::script(vec![Does::says(format!("{whole}{event}\n\n")), Does::says(dialect.hello())]).await;
        let answer = dialect.ask(&mock, prompt("Greet.")).await.unwrap();
        assert_eq!((answer.text.as_str(), mock.seen().len()), ("Hello world.", 2), "{dialect:?}");
    }
}
