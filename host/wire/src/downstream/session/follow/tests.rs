//! Subscriptions to servers of both lifecycles.

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::*;
use crate::downstream::{
    peer::Lifecycle,
    testing::scripted::{begin_with, scripted_session},
};

fn answers(request: &Value, subscribes: bool) -> Vec<Value> {
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    let notification =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    let capabilities = json!({"resources": {"subscribe": subscribes}});
    let meta = json!({"io.modelcontextprotocol/subscriptionId": request["id"]});
    let updated = "notifications/resources/updated";
    match request["method"].as_str().unwrap_or_default() {
        "resources/subscribe" if request["params"]["uri"] == "memo://odd" => vec![json!({
            "jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "What?"},
        })],
        "resources/subscribe" => {
            let other = notification(updated, json!({"uri": "memo://other"}));
            vec![result(json!({})), other, notification(updated, json!({"uri": request["params"]["uri"]}))]
        }
        "resources/unsubscribe" => vec![result(json!({}))],
        "subscriptions/listen" => {
            let filter = &request["params"]["notifications"];
            let acknowledged = json!({"notifications": filter, "_meta": meta});
            let uri = &filter["resourceSubscriptions"][0];
            vec![
                notification("notifications/subscriptions/acknowledged", acknowledged),
                notification(updated, json!({"uri": uri, "_meta": meta})),
            ]
        }
        _ => begin_with(request, &capabilities).into_iter().collect(),
    }
}

async fn session(lifecycle: Lifecycle, subscribes: bool) -> (ServerSession, UnboundedReceiver<Value>) {
    scripted_session(lifecycle, move |request| answers(request, subscribes)).await
}

async fn wait_for_request(requests: &mut UnboundedReceiver<Value>, method: &str) {
    while requests.recv().await.expect("a server")["method"] != method {}
}

#[tokio::test]
async fn updates_arrive_until_the_last_follower_leaves() {
    for (lifecycle, begins, ends) in [
        (Lifecycle::Handshake, "resources/subscribe", "resources/unsubscribe"),
        (Lifecycle::Discovery, "subscriptions/listen", "notifications/cancelled"),
    ] {
        let (session, mut methods) = session(lifecycle, true).await;
        let mut one = session.follow("memo://1").await.expect("an answer").expect("updates");
        wait_for_request(&mut methods, begins).await;
        one.changed().await.expect("a change");
        assert_eq!(*one.borrow_and_update(), 1, "and none of the other");
        let two = session.follow("memo://1").await.expect("an answer").expect("updates");
        drop(one);
        assert!(session.peer.subscriptions.has_followers());
        drop(two);
        wait_for_request(&mut methods, ends).await;
        assert!(!session.peer.subscriptions.has_followers());
    }
}

#[tokio::test]
async fn a_server_without_subscriptions_is_not_followed() {
    let (quiet, _methods) = session(Lifecycle::Handshake, false).await;
    assert!(quiet.follow("memo://1").await.expect("an answer").is_none());
    let (odd, _methods) = session(Lifecycle::Handshake, true).await;
    assert!(odd.follow("memo://odd").await.expect("an answer").is_none());
    assert!(!odd.peer.subscriptions.has_followers());
}

#[tokio::test]
async fn followers_notice_the_end_of_the_connection() {
    let (session, _methods) = session(Lifecycle::Handshake, true).await;
    let mut one = session.follow("memo://1").await.expect("an answer").expect("updates");
    crate::downstream::connection::ServerConnection::close(&session).await;
    while one.changed().await.is_ok() {}
}

fn first(followed: &UpstreamSubscriptions, uri: &str) -> FirstFollower {
    match followed.follow(uri) {
        FollowOutcome::First(first) => first,
        FollowOutcome::Joined(_) => panic!("{uri} is already followed"),
    }
}

fn joined(followed: &UpstreamSubscriptions, uri: &str) -> watch::Receiver<u64> {
    match followed.follow(uri) {
        FollowOutcome::Joined(receiver) => receiver,
        FollowOutcome::First(_) => panic!("{uri} is not followed"),
    }
}

#[tokio::test]
async fn one_subscription_serves_all_followers_until_the_last_leaves() {
    let followed = UpstreamSubscriptions::default();
    let task = first(&followed, "memo://1");
    let (one, two) = (task.receiver(), joined(&followed, "memo://1"));
    drop(one);
    drop(two);
    task.wait_until_unfollowed().await;
    assert!(!followed.has_followers());
    let again = first(&followed, "memo://1");
    drop(task);
    assert!(followed.has_followers(), "the new follower remains");
    drop(again);
    assert!(!followed.has_followers(), "the connection is gone");
}

#[test]
fn a_change_reaches_only_followers_of_that_resource() {
    let followed = UpstreamSubscriptions::default();
    let (file, folder) = (first(&followed, "file:///a"), first(&followed, "file:///b/"));
    let (file, folder) = (file.receiver(), folder.receiver());
    drop((joined(&followed, "file:///a"), joined(&followed, "file:///b/")));
    let changed = |uri: &str| {
        let before = (*file.borrow(), *folder.borrow());
        followed.changed(uri);
        (*file.borrow() - before.0, *folder.borrow() - before.1)
    };
    assert_eq!(changed("file:///a"), (1, 0));
    assert_eq!(changed("file:///a/part"), (1, 0));
    assert_eq!(changed("file:///ab"), (0, 0));
    assert_eq!(changed("file:///b/c"), (0, 1));
    assert_eq!(changed("file:///elsewhere"), (0, 0));
}
