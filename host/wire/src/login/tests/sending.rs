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
    inbound.register_request(&NumberOrString::Number(0));
    inbound
}

async fn ping(place: &Place, host: &Arc<Logins>) -> Result<String, Fault> {
    let clients = HttpClients::default();
    let client = clients.for_url(&place.target()).expect("a client").clone();
    let client = AuthenticatedClient::new(client, Some(Arc::clone(host)), "git".into(), inbound());
    match client.post_message(place.url().into(), ping_message(), None, None, Default::default()).await {
        Ok(StreamableHttpPostResponse::Json(message, _)) => {
            Ok(serde_json::to_string(&message).expect("a message"))
        }
        Ok(other) => panic!("{other:?}"),
        Err(StreamableHttpError::UnexpectedServerResponse(text)) => Ok(text.into_owned()),
        Err(error) => Err(fault_of(&error).unwrap_or_else(|| panic!("{error:?}")).clone()),
    }
}

#[tokio::test]
async fn a_token_goes_along_and_does_not_come_back() {
    let place = Place::with(&[]);
    let host = Arc::new(place.logged_in().await);
    let reply = ping(&place, &host).await.expect("a reply");
    assert!(reply.contains("[redacted]") && !reply.contains("-secret-"), "{reply}");
    place.authority.now(Vice::RepliesWithError);
    let said = ping(&place, &host).await.expect("the server's error text");
    assert!(said.contains("[redacted]") && !said.contains("-secret-"), "{said}");
}

#[tokio::test]
async fn a_refused_request_is_sent_once_more_with_a_renewed_token() {
    let place = Place::with(&[]);
    let host = Arc::new(place.logged_in().await);
    let before = place.authority.seen("/mcp").len();
    place.authority.expire();
    ping(&place, &host).await.expect("a reply");
    assert_eq!((place.authority.seen("/mcp").len() - before, place.authority.renewals()), (2, 1));
    ping(&place, &host).await.expect("a reply");
    assert_eq!((place.authority.seen("/mcp").len() - before, place.authority.renewals()), (3, 1));
}

#[tokio::test]
async fn a_server_that_takes_no_token_is_asked_twice_and_no_more() {
    for vice in [Vice::TakesNoToken, Vice::TakesNoTokenAndSaysNothing] {
        let place = Place::with(&[]);
        let host = Arc::new(place.logged_in().await);
        let before = place.authority.seen("/mcp").len();
        place.authority.now(vice);
        let fault = ping(&place, &host).await.expect_err("refused");
        let over = "the login to 'git' is no longer valid. Run: gatehouse servers login git";
        assert_eq!(fault.in_one_line(), over, "{vice:?}");
        assert_eq!(
            (place.authority.seen("/mcp").len() - before, place.authority.renewals()),
            (2, 1),
            "{vice:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_wants_a_login_is_told_of() {
    let place = Place::with(&[]);
    let host = Arc::new(place.host());
    let fault = ping(&place, &host).await.expect_err("no login");
    assert_eq!(fault.in_one_line(), "server 'git' requires a login. Run: gatehouse servers login git");
    let seen = place.authority.seen("/mcp");
    assert_eq!((seen.len(), &*seen[0].authorization), (1, ""));
    // A new login is used without a restart.
    place.log_in().await.expect("a login");
    ping(&place, &host).await.expect("a reply");
    place.authority.now(Vice::WantsScope);
    let fault = ping(&place, &host).await.expect_err("no scope");
    let wanted = "the login to 'git' lacks the required scopes: admin. Run: gatehouse servers login git --scope \
    \"admin\"";
    assert_eq!(fault.in_one_line(), wanted);
}

#[tokio::test]
async fn faults_of_a_login_come_through_the_protocol() {
    use rmcp::{
        ServiceExt as _,
        transport::streamable_http_client::{
            StreamableHttpClientTransportConfig, StreamableHttpClientWorker,
        },
    };
    let place = Place::with(&[]);
    let host = Arc::new(place.host());
    let clients = HttpClients::default();
    let client = clients.for_url(&place.target()).expect("a client").clone();
    let client = AuthenticatedClient::new(client, Some(host), "git".into(), inbound());
    let config = StreamableHttpClientTransportConfig::with_uri(place.url());
    let begun = ().serve(StreamableHttpClientWorker::new(client, config)).await;
    let Err(error) = begun else { panic!("no login") };
    let fault = fault_of(&error).map(Fault::in_one_line);
    assert_eq!(
        fault.as_deref(),
        Some("server 'git' requires a login. Run: gatehouse servers login git"),
        "{error:?}"
    );
}

async fn stream(place: &Place, host: &Arc<Logins>) -> Result<SseTransport, Fault> {
    let clients = HttpClients::default();
    let client = clients.for_url(&place.target()).expect("a client").clone();
    let logins = Some((Arc::clone(host), "git".into()));
    let asking = ServerRequester::new(client, place.target(), Default::default(), logins);
    SseTransport::open(asking, inbound(), 4_096)
        .await
        .map_err(|error| fault_of(&error).expect("a fault").clone())
}

#[tokio::test]
async fn a_stream_of_events_has_a_login_like_any_other_request() {
    let place = Place::with(&[]);
    let host = Arc::new(place.host());
    let wanted = stream(&place, &host).await.err().map(|fault| fault.in_one_line());
    assert_eq!(wanted.as_deref(), Some("server 'git' requires a login. Run: gatehouse servers login git"));
    place.log_in().await.expect("a login");
    let mut opened = stream(&place, &host).await.expect("a stream");
    let told = opened.receive().await.expect("a message");
    let told = serde_json::to_string(&told).expect("a message");
    assert!(told.contains("[redacted]") && !told.contains("-secret-"), "{told}");

    let before = place.authority.seen("/mcp").len();
    place.authority.expire();
    opened.send(ping_message()).await.expect("sent");
    assert_eq!((place.authority.seen("/mcp").len() - before, place.authority.renewals()), (2, 1));
    place.authority.now(Vice::TakesNoToken);
    let error = opened.send(ping_message()).await.expect_err("refused");
    let over = "the login to 'git' is no longer valid. Run: gatehouse servers login git";
    assert_eq!(fault_of(&error).map(Fault::in_one_line).as_deref(), Some(over));
}
