//! Limits on sizes and on concurrent requests.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use gatehouse_core::{FaultKind, ports::llm::ModelPrompt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    plain::models,
    support::{Dialect, Does, Mock, prompt},
};

#[tokio::test]
async fn a_text_without_end_is_cut() {
    for dialect in Dialect::ALL {
        let long = dialect.hello().replace("Hello", &"é".repeat(600_000)).replace(" world.", "no more");
        let mock = Mock::script(vec![Does::says(long)]).await;
        let answer = dialect.ask(&mock, prompt("Greet.")).await.unwrap();
        assert_eq!(answer.text.len(), 1 << 20, "{dialect:?}");
        assert!(answer.cut_short.unwrap().contains("1 MiB"));
    }
}

#[tokio::test]
async fn a_line_without_end_is_not_read() {
    for dialect in Dialect::ALL {
        let line = format!("data: {{\"x\":\"{}", "x".repeat(5 << 20));
        let mock = Mock::script(vec![Does::Stops(line)]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Internal, "{dialect:?}: {fault:?}");
        assert!(fault.message.contains("too long"), "{fault:?}");
        assert_eq!(mock.seen().len(), 1);
    }
}

#[tokio::test]
async fn a_long_error_is_shown_shortly() {
    for dialect in Dialect::ALL {
        let mock = Mock::script(vec![Does::fails(400, dialect.error(400, &"no ".repeat(10_000)))]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert!(fault.message.len() < 600, "{}", fault.message.len());
        let mock = Mock::script(vec![Does::fails(400, "x".repeat(1 << 20))]).await;
        let fault = dialect.ask(&mock, prompt("Greet.")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Internal, "{dialect:?}: {fault:?}");
    }
}

/// Two requests wait for each other, so both must run at the same time. A third would be counted.
#[tokio::test]
async fn so_many_requests_at_a_time_and_no_more() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (there, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let pair = Arc::new(tokio::sync::Barrier::new(2));
    let counts = (Arc::clone(&there), Arc::clone(&most));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (there, most) = counts.clone();
            let pair = Arc::clone(&pair);
            tokio::spawn(async move {
                let now = there.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                assert!(stream.read(&mut [0; 4096]).await.unwrap() > 0);
                pair.wait().await;
                let body = Dialect::Chat.hello();
                let head =
                    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
                there.fetch_sub(1, Ordering::SeqCst);
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            });
        }
    });
    let mut config = Dialect::Chat.config(&url);
    config.openai.concurrency = 2;
    let models = Arc::new(models(&config).unwrap());
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let models = Arc::clone(&models);
            tokio::spawn(async move { models.llm.complete(prompt("Greet."), &|_| {}).await })
        })
        .collect();
    for answer in asked {
        assert_eq!(answer.await.unwrap().unwrap().text, "Hello world.");
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn waiting_for_a_turn_ends_with_the_deadline() {
    let mock = Mock::script(vec![Does::Waits(Arc::default())]).await;
    let mut config = Dialect::Ollama.config(&mock.url);
    config.ollama.concurrency = 1;
    let models = models(&config).unwrap();
    let soon = || ModelPrompt {
        deadline: tokio::time::Instant::now() + std::time::Duration::from_millis(100),
        ..prompt("Greet.")
    };
    let (first, second) =
        tokio::join!(models.llm.complete(soon(), &|_| {}), models.llm.complete(soon(), &|_| {}));
    assert_eq!(first.unwrap_err().kind, FaultKind::TimedOut);
    assert!(second.unwrap_err().message.contains("busy with other requests"));
    assert_eq!(mock.seen().len(), 1);
}
