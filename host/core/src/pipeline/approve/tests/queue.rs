//! Calls that wait for a person at the host: without forms, beside a form, and after their client has left.

use futures_util::{FutureExt, future::BoxFuture, poll};

use super::*;
use crate::call_time::MAX_PAUSE;

impl Host {
    /// A host with the tools of [`Self::desk`], at which a person can answer.
    async fn attended(rule: ApprovalRule) -> Self {
        let host = Self::desk(rule).await;
        host.queue.set_open(true);
        host
    }

    fn begin(&self, user: &Arc<FakeClient>, tool: &str, arguments: Value) -> BoxFuture<'static, Outcome> {
        let call = Call::new(self.context(user, tool), arguments);
        Box::pin(async move { call.run().await })
    }

    fn waiting(&self) -> Vec<ApprovalRequest> {
        self.queue.requests()
    }
}

/// A client that cannot show forms.
fn mute() -> Arc<FakeClient> {
    let mut client = FakeClient::new(|_| Err(Fault::internal("never asked")));
    client.profile.features.forms = false;
    client.profile.name = "desktop".into();
    Arc::new(client)
}

async fn waits(call: &mut BoxFuture<'static, Outcome>) {
    for _ in 0..10 {
        assert!(poll!(&mut *call).is_pending());
    }
}

fn erase_rule() -> ApprovalRule {
    of_tools(&["erase"], ApprovalScope::Call)
}

#[tokio::test(start_paused = true)]
async fn call_of_a_client_without_forms_waits_for_the_operator() {
    let host = Host::attended(erase_rule()).await;
    let (added, client) = (host.queue.follow(), mute());
    let mut call = host.begin(&client, "erase", json!({"path": "/a"}));
    waits(&mut call).await;
    assert!(added.has_changed().expect("the queue"));
    // More than the time limit of the call.
    tokio::time::advance(Duration::from_secs(120)).await;
    waits(&mut call).await;
    let [request] = &host.waiting()[..] else { panic!("{:?}", host.waiting()) };
    let expected = "May 'erase' run (erase of gate 'desk', external-exec)? Approval applies for this call.\nArguments: {\"path\":\"/a\"}";
    assert_eq!((&*request.question, &*request.client, &*request.principal), (expected, "desktop", "local"));
    assert_eq!((request.waiting_seconds, request.remaining_seconds, request.is_connected), (120, 480, true));
    assert_eq!(host.queue.answer(&request.id, true), AnswerEffect::Taken { is_connected: true });
    assert!(call.await.is_ok());
    let second = host.queue.answer(&request.id, false);
    assert_eq!(second, AnswerEffect::AnsweredBefore { allowed: true, by: "the operator".into() });
    assert_eq!(host.queue.answer("other", true), AnswerEffect::Unknown);
    let mut call = host.begin(&client, "erase", json!({"path": "/a"}));
    waits(&mut call).await;
    host.queue.answer(&host.waiting()[0].id, false);
    let fault = call.await.expect_err("declined");
    assert_eq!(fault.message, "the user was asked whether 'erase' may run, and declined");
}

#[tokio::test(start_paused = true)]
async fn call_that_nobody_approves_ends_after_the_longest_pause() {
    let host = Host::attended(erase_rule()).await;
    let mut call = host.begin(&mute(), "erase", json!({}));
    waits(&mut call).await;
    tokio::time::advance(MAX_PAUSE).await;
    let fault = call.await.expect_err("no answer");
    assert!(fault.message.ends_with("did not answer"), "{fault}");
    assert!(host.waiting().is_empty());
}

#[tokio::test(start_paused = true)]
async fn approval_for_a_client_that_left_lets_the_same_call_run_once() {
    let host = Host::attended(erase_rule()).await;
    let client = mute();
    let leave = async |arguments: Value| {
        let mut call = host.begin(&client, "erase", arguments);
        waits(&mut call).await;
        drop(call);
        host.waiting().last().expect("it stays").id.clone()
    };
    let id = leave(json!({"a": 1})).await;
    assert!(!host.waiting()[0].is_connected);
    assert_eq!(leave(json!({"a": 1})).await, id, "a repeated call is the same request");
    let other = leave(json!({"a": 2})).await;
    assert_eq!(host.waiting().len(), 2);
    assert_eq!(host.queue.answer(&id, true), AnswerEffect::Taken { is_connected: false });
    let mut changed = host.begin(&client, "erase", json!({"a": 3}));
    waits(&mut changed).await;
    assert!(host.begin(&client, "erase", json!({"a": 1})).now_or_never().expect("approved").is_ok());
    let mut again = host.begin(&client, "erase", json!({"a": 1}));
    waits(&mut again).await;
    host.queue.answer(&other, false);
    let mut declined = host.begin(&client, "erase", json!({"a": 2}));
    waits(&mut declined).await;
    let mut stranger = host.context(&client, "erase");
    stranger.caller = Caller::named("eve");
    let id = leave(json!({"a": 5})).await;
    host.queue.answer(&id, true);
    let mut stranger: BoxFuture<'_, Outcome> = Box::pin(Call::new(stranger, json!({"a": 5})).run());
    assert!(poll!(&mut stranger).is_pending(), "another principal");
    tokio::time::advance(MAX_PAUSE).await;
    assert!(host.begin(&client, "erase", json!({"a": 5})).now_or_never().is_none(), "it has expired");
}

#[tokio::test(start_paused = true)]
async fn approval_at_the_moment_of_leaving_is_not_lost() {
    let host = Host::attended(erase_rule()).await;
    let mut call = host.begin(&mute(), "erase", json!({}));
    waits(&mut call).await;
    assert_eq!(host.queue.answer(&host.waiting()[0].id, true), AnswerEffect::Taken { is_connected: true });
    drop(call);
    assert!(host.begin(&mute(), "erase", json!({})).now_or_never().expect("approved").is_ok());
}

#[tokio::test(start_paused = true)]
async fn first_answer_counts_and_a_program_that_declines_is_no_person() {
    let host = Host::attended(erase_rule()).await;
    assert!(host.call(&approving_client(), "erase", json!({})).await.is_ok(), "the form");
    assert!(host.waiting().is_empty());
    let refused = client(json!({"action": "accept", "content": {"allow": false}}));
    assert!(host.call(&refused, "erase", json!({})).await.is_err());
    let programs: [fn() -> Result<Value, Fault>; 4] = [
        || Ok(json!({"action": "decline"})),
        || Ok(json!({"action": "cancel"})),
        || Ok(json!({"action": "accept", "content": {}})),
        || Err(Fault::denied("the client refused the question: Elicitation not supported (-32600)")),
    ];
    for program in programs {
        let client = Arc::new(FakeClient::new(move |_| program()));
        let mut call = host.begin(&client, "erase", json!({}));
        waits(&mut call).await;
        assert_eq!(client.asked().len(), 1);
        host.queue.answer(&host.waiting()[0].id, true);
        assert!(call.await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_for_some_time_answers_waiting_calls_that_are_the_same() {
    let minutes = ApprovalScope::For(Duration::from_secs(600));
    let host = Host::attended(of_tools(&["erase"], minutes)).await;
    let mut calls: Vec<_> =
        [1, 1, 2].map(|a| host.begin(&mute(), "erase", json!({"a": a}))).into_iter().collect();
    for call in &mut calls {
        waits(call).await;
    }
    assert_eq!(host.waiting().len(), 3);
    host.queue.answer(&host.waiting()[0].id, true);
    assert_eq!(host.waiting().len(), 1);
    let ran: Vec<_> = calls.into_iter().map(|call| call.now_or_never().is_some()).collect();
    assert_eq!(ran, [true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn waiting_calls_of_one_caller_are_limited() {
    let host = Host::attended(erase_rule()).await;
    let mut calls: Vec<_> = (0..64).map(|a| host.begin(&mute(), "erase", json!({"a": a}))).collect();
    for call in &mut calls {
        waits(call).await;
    }
    let fault = host.call(&mute(), "erase", json!({})).await.expect_err("too many");
    assert_eq!(fault.kind, FaultKind::Exhausted, "{fault}");
    let mut other = host.context(&mute(), "erase");
    other.caller = Caller::named("ann");
    let mut other: BoxFuture<'_, Outcome> = Box::pin(Call::new(other, json!({})).run());
    assert!(poll!(&mut other).is_pending(), "another caller may wait");
}
