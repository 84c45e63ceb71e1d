//! Requests with a login.

use super::*;
use crate::downstream::testing::{OpenStream, ping as ping_as};

async fn ping(fixture: &Fixture, host: &Arc<Logins>) -> Result<String, Fault> {
    ping_as(fixture.target(), Arc::clone(host), git()).await
}

#[tokio::test]
async fn tokens_are_sent_and_redacted_from_responses() {
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.logged_in().await);
    let reply = ping(&fixture, &host).await.expect("a reply");
    assert!(reply.contains("[redacted]") && !reply.contains("-secret-"), "{reply}");
    fixture.authority.start_to(Misbehavior::RepliesWithError);
    let text = ping(&fixture, &host).await.expect("the server's error text");
    assert!(text.contains("[redacted]") && !text.contains("-secret-"), "{text}");
}

#[tokio::test]
async fn a_refused_request_is_repeated_with_a_renewed_token() {
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.logged_in().await);
    let before = fixture.authority.seen("/mcp").len();
    fixture.authority.expire();
    ping(&fixture, &host).await.expect("a reply");
    assert_eq!((fixture.authority.seen("/mcp").len() - before, fixture.authority.renewals()), (2, 1));
    ping(&fixture, &host).await.expect("a reply");
    assert_eq!((fixture.authority.seen("/mcp").len() - before, fixture.authority.renewals()), (3, 1));
}

#[tokio::test]
async fn a_request_is_repeated_at_most_once() {
    for misbehavior in [Misbehavior::RefusesToken, Misbehavior::RefusesTokenWithoutChallenge] {
        let fixture = Fixture::with(&[]);
        let host = Arc::new(fixture.logged_in().await);
        let before = fixture.authority.seen("/mcp").len();
        fixture.authority.start_to(misbehavior);
        let fault = ping(&fixture, &host).await.expect_err("refused");
        let over = "the login to 'git' is no longer valid. Run: gatehouse servers login git";
        assert_eq!(fault.in_one_line(), over, "{misbehavior:?}");
        assert_eq!(
            (fixture.authority.seen("/mcp").len() - before, fixture.authority.renewals()),
            (2, 1),
            "{misbehavior:?}"
        );
    }
}

#[tokio::test]
async fn required_logins_and_scopes_are_reported() {
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.host());
    let fault = ping(&fixture, &host).await.expect_err("no login");
    assert_eq!(fault.in_one_line(), "server 'git' requires a login. Run: gatehouse servers login git");
    let seen = fixture.authority.seen("/mcp");
    assert_eq!((seen.len(), &*seen[0].authorization), (1, ""));
    // A new login is used without a restart.
    fixture.log_in().await.expect("a login");
    ping(&fixture, &host).await.expect("a reply");
    fixture.authority.start_to(Misbehavior::RequiresScope);
    let fault = ping(&fixture, &host).await.expect_err("no scope");
    let wanted = "the login to 'git' lacks the required scopes: admin. Run: gatehouse servers login git --scope \
    \"read admin\"";
    assert_eq!(fault.in_one_line(), wanted);
}

async fn stream(fixture: &Fixture, host: &Arc<Logins>) -> Result<(OpenStream, String), Fault> {
    OpenStream::open(fixture.target(), Arc::clone(host), git()).await
}

#[tokio::test]
async fn event_streams_use_the_login() {
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.host());
    let wanted = stream(&fixture, &host).await.err().map(|fault| fault.in_one_line());
    assert_eq!(wanted.as_deref(), Some("server 'git' requires a login. Run: gatehouse servers login git"));
    fixture.log_in().await.expect("a login");
    let (opened, message) = stream(&fixture, &host).await.expect("a stream");
    assert!(message.contains("[redacted]") && !message.contains("-secret-"), "{message}");

    let before = fixture.authority.seen("/mcp").len();
    fixture.authority.expire();
    opened.post().await.expect("sent");
    assert_eq!((fixture.authority.seen("/mcp").len() - before, fixture.authority.renewals()), (2, 1));
    fixture.authority.start_to(Misbehavior::RefusesToken);
    let fault = opened.post().await.expect_err("refused");
    let over = "the login to 'git' is no longer valid. Run: gatehouse servers login git";
    assert_eq!(fault.in_one_line(), over);
}
