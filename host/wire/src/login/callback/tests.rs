//! Answers at the redirect endpoint.

use super::*;

fn code(target: &str, names_issuer: bool) -> Option<Result<String, String>> {
    let state = Secret::new("right");
    let expected = ExpectedAnswer { state: &state, issuer: "https://a.example", names_issuer };
    let answer = expected.answer(target)?;
    Some(answer.map(|code| code.reveal().to_owned()).map_err(|fault| fault.message))
}

#[test]
fn only_answers_with_the_right_state_count() {
    assert_eq!(code("/callback?code=c&state=right", false), Some(Ok("c".into())));
    assert_eq!(code("/callback?code=c&state=right&iss=https://a.example", true), Some(Ok("c".into())));
    // Compared as text (RFC 9207), like every issuer.
    assert!(
        code("/callback?code=c&state=right&iss=https://a.example/", true).is_some_and(|code| code.is_err())
    );
    for other in [
        "/callback?code=c&state=wrong",
        "/callback?code=c",
        "/callback?error=access_denied",
        "/callback?code=c&code=d&state=right",
        "/callback?code=c&state=right&state=right",
        "/other?code=c&state=right",
        "/favicon.ico",
    ] {
        assert_eq!(code(other, false), None, "{other}");
    }
}

#[test]
fn refusals_and_other_issuers_end_the_login() {
    let reason = |target: &str, names: bool| code(target, names).and_then(Result::err).unwrap_or_default();
    assert_eq!(
        reason("/callback?error=access_denied&error_description=no.&state=right", false),
        "https://a.example refused the login: access_denied, no"
    );
    assert!(
        reason("/callback?code=c&state=right&iss=https://evil.example", false)
            .contains("'https://evil.example'")
    );
    assert!(reason("/callback?code=c&state=right", true).contains("does not name its issuer"));
    assert!(reason("/callback?state=right", false).contains("without a code"));
}

#[tokio::test]
async fn silent_connections_do_not_block_the_browser() {
    let callback = CallbackListener::open(None).await.expect("a port");
    let address = callback.listener.local_addr().expect("an address");
    let state = Secret::new("right");
    let expected = ExpectedAnswer { state: &state, issuer: "https://a.example", names_issuer: false };
    let browser = async {
        let mut silent = Vec::new();
        for _ in 0..3 * MAX_CONNECTIONS {
            silent.push(TcpStream::connect(address).await.expect("connected"));
        }
        let mut stream = TcpStream::connect(address).await.expect("connected");
        let request = b"GET /callback?code=c&state=right HTTP/1.1\r\n\r\n";
        stream.write_all(request).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        (answer, silent)
    };
    // Shorter than the timeout of a silent connection.
    let (code, (answer, _)) =
        timeout(MAX_HEAD_TIME / 2, async { tokio::join!(callback.code(&expected), browser) })
            .await
            .expect("the browser is answered");
    assert_eq!(code.expect("a code").reveal(), "c");
    assert!(answer.contains(ANSWER_RECEIVED), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn the_wait_ends_after_five_minutes() {
    let callback = CallbackListener::open(None).await.expect("a port");
    let state = Secret::new("right");
    let expected = ExpectedAnswer { state: &state, issuer: "https://a.example", names_issuer: false };
    let fault = callback.code(&expected).await.expect_err("no answer came");
    assert_eq!((fault.kind, fault.message.as_str()), (FaultKind::TimedOut, "no login within 5 minutes"));
}
