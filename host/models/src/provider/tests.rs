//! Checks of base URLs and settings, and retries.

use super::{failure::RetryHint, *};

fn base(name: ProviderName, url: &str) -> Result<String, String> {
    address(name, url)
}

#[test]
fn addresses_are_checked() {
    let openai = |url| base(ProviderName::OpenAi, url);
    assert_eq!(openai("http://127.0.0.1:8080/v1/").as_deref(), Ok("http://127.0.0.1:8080/v1"));
    assert_eq!(openai(" https://a.example ").as_deref(), Ok("https://a.example"));
    for bad in
        ["", "a.example", "ftp://a.example", "https://u:p@a.example", "https://a.example/?k=v", "https://a#b"]
    {
        assert!(openai(bad).is_err(), "{bad}");
    }
    let secret = openai("https://user:hunter2hunter2@a.example").unwrap_err();
    assert!(!secret.contains("hunter2"), "{secret}");
}

#[test]
fn ollama_is_found_the_way_its_own_client_finds_it() {
    let ollama = |url| base(ProviderName::Ollama, url);
    assert_eq!(ollama("0.0.0.0").as_deref(), Ok("http://127.0.0.1:11434"));
    assert_eq!(ollama("box:1234").as_deref(), Ok("http://box:1234"));
    assert_eq!(ollama("https://box.example/ollama/").as_deref(), Ok("https://box.example/ollama"));
}

fn provider(settings: &ProviderSettings) -> Result<Provider, BadSetting> {
    let header = |key: &Secret| ("authorization", format!("Bearer {}", key.reveal()));
    Provider::new(ProviderName::OpenAi, settings, header, RetryPolicy::default(), Arc::default())
}

#[test]
fn the_key_is_shown_nowhere() {
    let settings =
        ProviderSettings { key: Some(Secret::new("sk-very-secret")), ..ProviderSettings::default() };
    let made = provider(&settings).unwrap();
    for shown in [format!("{made:?}"), format!("{settings:?}"), format!("{:?}", made.headers)] {
        assert!(!shown.contains("secret-"), "{shown}");
        assert!(!shown.contains("very"), "{shown}");
    }
    assert_eq!(made.quote("wrong key: sk-very-secret\n"), "wrong key: [redacted]");
    let broken =
        ProviderSettings { key: Some(Secret::new("sk-very\nsecret")), ..ProviderSettings::default() };
    let error = provider(&broken).map(|_| ()).unwrap_err().to_string();
    assert!(!error.contains("sk-"), "{error}");
}

#[test]
fn nonsense_is_refused() {
    assert!(provider(&ProviderSettings { concurrency: 0, ..ProviderSettings::default() }).is_err());
    assert!(provider(&ProviderSettings { concurrency: 65, ..ProviderSettings::default() }).is_err());
    assert!(provider(&ProviderSettings { timeout: Duration::ZERO, ..ProviderSettings::default() }).is_err());
}

#[tokio::test(start_paused = true)]
async fn it_tries_again_until_the_deadline_and_no_longer() {
    let made = provider(&ProviderSettings::default()).unwrap();
    let start = Instant::now();
    let asked = |seconds| AttemptFailure {
        fault: Fault::exhausted("busy"),
        retry: RetryHint::After(Some(Duration::from_secs(seconds))),
    };
    let mut tries = 0;
    let done = made
        .with_retries(start + Duration::from_secs(60), || {
            tries += 1;
            let result = if tries < 3 { Err(asked(7)) } else { Ok(tries) };
            async move { result }
        })
        .await;
    assert_eq!(done, Ok(3));
    assert!((14..=16).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());

    let start = Instant::now();
    let late = made.with_retries(start + Duration::from_secs(60), || async { Err::<(), _>(asked(61)) }).await;
    let fault = late.unwrap_err();
    assert!(fault.message.contains("asks to wait 61 s") && fault.retryable, "{fault:?}");
    assert_eq!(start.elapsed(), Duration::ZERO);

    let start = Instant::now();
    let never = || async { Err::<(), _>(AttemptFailure::permanent(Fault::denied("no"))) };
    assert_eq!(made.with_retries(start + Duration::from_secs(60), never).await.unwrap_err().message, "no");

    let mut tries = 0;
    let always = made.with_retries(start + Duration::from_secs(600), || {
        tries += 1;
        async {
            Err::<(), _>(AttemptFailure { fault: Fault::unavailable("down"), retry: RetryHint::After(None) })
        }
    });
    assert_eq!(always.await.unwrap_err().message, "down; tried 5 times");
    assert_eq!(tries, 5);
}
