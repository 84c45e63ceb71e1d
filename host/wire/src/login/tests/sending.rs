//! Requests with a login.

use gatehouse_net::HttpClients;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, NumberOrString, PingRequest},
    transport::{
        Transport as _,
        streamable_http_client::{
            StreamableHttpClient as _, StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};

use super::*;
use crate::{
    downstream::{
        inbound::{InboundLimits, InboundReader},
        sse::{ServerRequester, SseTransport},
    },
    login::{AuthenticatedClient, fault_of},
};

fn ping_message() -> ClientJsonRpcMessage {
    let ping = ClientRequest::PingRequest(PingRequest::default());
    ClientJsonRpcMessage::request(ping, NumberOrString::Number(0))
}

fn inbound() -> InboundReader {
    let inbound = InboundReader::new(&InboundLimits::new(Arc::default()));
    inbound.register_request(&NumberOrString::Number(0), false);
    inbound
}

async fn ping(fixture: &Fixture, host: &Arc<Logins>) -> Result<String, Fault> {
    let clients = HttpClients::default();
    let client = clients.for_url(&fixture.target()).expect("a client").clone();
    let client = AuthenticatedClient::new(client, Some(Arc::clone(host)), git(), inbound());
    match client.post_message(fixture.url().into(), ping_message(), None, None, Default::default()).await {
        Ok(StreamableHttpPostResponse::Json(message, _)) => {
            Ok(serde_json::to_string(&message).expect("a message"))
        }
        Ok(other) => panic!("{other:?}"),
        Err(StreamableHttpError::UnexpectedServerResponse(text)) => Ok(text.into_owned()),
        Err(error) => Err(fault_of(&error).unwrap_or_else(|| panic!("{error:?}")).clone()),
    }
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

#[tokio::test]
async fn login_faults_pass_through_rmcp() {
    use rmcp::{
        ServiceExt as _,
        transport::streamable_http_client::{
            StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
        },
    };
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.host());
    let clients = HttpClients::default();
    let client = clients.for_url(&fixture.target()).expect("a client").clone();
    let client = AuthenticatedClient::new(client, Some(host), git(), inbound());
    let config = StreamableHttpClientTransportConfig::with_uri(fixture.url());
    let begun = ().serve(StreamableHttpClientWorker::new(client, config)).await;
    let Err(error) = begun else { panic!("no login") };
    let fault = fault_of(&error).map(Fault::in_one_line);
    assert_eq!(
        fault.as_deref(),
        Some("server 'git' requires a login. Run: gatehouse servers login git"),
        "{error:?}"
    );
}

async fn stream(fixture: &Fixture, host: &Arc<Logins>) -> Result<SseTransport, Fault> {
    let clients = HttpClients::default();
    let client = clients.for_url(&fixture.target()).expect("a client").clone();
    let logins = Some((Arc::clone(host), git()));
    let requester = ServerRequester::new(client, fixture.target(), Default::default(), logins);
    SseTransport::open(requester, inbound(), 4_096)
        .await
        .map_err(|error| fault_of(&error).expect("a fault").clone())
}

#[tokio::test]
async fn event_streams_use_the_login() {
    let fixture = Fixture::with(&[]);
    let host = Arc::new(fixture.host());
    let wanted = stream(&fixture, &host).await.err().map(|fault| fault.in_one_line());
    assert_eq!(wanted.as_deref(), Some("server 'git' requires a login. Run: gatehouse servers login git"));
    fixture.log_in().await.expect("a login");
    let mut opened = stream(&fixture, &host).await.expect("a stream");
    let message = opened.receive().await.expect("a message");
    let message = serde_json::to_string(&message).expect("a message");
    assert!(message.contains("[redacted]") && !message.contains("-secret-"), "{message}");

    let before = fixture.authority.seen("/mcp").len();
    fixture.authority.expire();
    opened.send(ping_message()).await.expect("sent");
    assert_eq!((fixture.authority.seen("/mcp").len() - before, fixture.authority.renewals()), (2, 1));
    fixture.authority.start_to(Misbehavior::RefusesToken);
    let error = opened.send(ping_message()).await.expect_err("refused");
    let over = "the login to 'git' is no longer valid. Run: gatehouse servers login git";
    assert_eq!(fault_of(&error).map(Fault::in_one_line).as_deref(), Some(over));
}
