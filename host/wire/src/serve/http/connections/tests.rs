//! Tests of eviction order.

use tokio::time::advance;

use super::*;

fn connections(most: usize) -> Arc<OpenConnections> {
    let settings = HttpSettings { connections: most, ..HttpSettings::default() };
    OpenConnections::new(settings)
}

fn peer() -> SocketAddr {
    ([127, 0, 0, 1], 40_000).into()
}

async fn entered(all: &Arc<OpenConnections>) -> ConnectionGuard {
    all.admit(peer()).await.expect("room")
}

fn goes(all: &OpenConnections, entries: &[&ConnectionGuard]) -> Option<usize> {
    let before: Vec<bool> = entries.iter().map(|entry| entry.connection.closing.is_cancelled()).collect();
    all.make_room().then(|| {
        let changed = |(index, entry): (usize, &&ConnectionGuard)| {
            (entry.connection.closing.is_cancelled() && !before[index]).then_some(index)
        };
        entries.iter().enumerate().find_map(changed).expect("one of these")
    })
}

#[tokio::test]
async fn strangers_go_first_and_running_calls_never() {
    let all = connections(100);
    let calling = entered(&all).await;
    let resting = entered(&all).await;
    let standing = entered(&all).await;
    let sending = entered(&all).await;
    let first = entered(&all).await;
    let second = entered(&all).await;
    first.connection.record_empty_read();
    second.connection.record_empty_read();
    let mut call = calling.connection.begin_request();
    call.mark_admitted(gatehouse_core::Caller::local());
    let mut stream = standing.connection.begin_request();
    stream.mark_admitted(gatehouse_core::Caller::local());
    stream.enter_listening();
    let mut body = sending.connection.begin_request();
    body.mark_admitted(gatehouse_core::Caller::local());
    body.enter_body();
    let mut rest = resting.connection.begin_request();
    rest.mark_admitted(gatehouse_core::Caller::local());
    drop(rest);
    resting.connection.record_flushed();
    // A request without a token does not authenticate a client.
    let refused = first.connection.begin_request();
    let every = [&calling, &resting, &standing, &sending, &first, &second];
    let order: Vec<usize> = std::iter::from_fn(|| goes(&all, &every)).collect();
    assert_eq!(order, [5, 4, 1, 3, 2], "strangers by age, who rests, who sends, who waits for changes");
    assert!(!calling.connection.closing.is_cancelled());
    drop((call, stream, body, refused));
}

#[tokio::test(start_paused = true)]
async fn a_reply_on_its_way_is_no_rest() {
    let all = connections(100);
    let one = entered(&all).await;
    let mut work = one.connection.begin_request();
    work.mark_admitted(gatehouse_core::Caller::local());
    work.connection.add_unsent(10);
    drop(work);
    assert_eq!(one.connection.eviction_rank(), None);
    one.connection.record_stall();
    assert_eq!(one.connection.eviction_rank(), None, "the network is full for a moment");
    advance(Duration::from_secs(2)).await;
    assert!(matches!(one.connection.eviction_rank(), Some((EvictionRank::Stalled, _))));
    one.connection.record_written(10);
    one.connection.record_flushed();
    assert!(matches!(one.connection.eviction_rank(), Some((EvictionRank::Idle, _))));
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_client_does_not_read_goes_after_those_that_rest() {
    let all = connections(100);
    let (calling, resting, closing) = (entered(&all).await, entered(&all).await, entered(&all).await);
    let mut call = calling.connection.begin_request();
    call.mark_admitted(gatehouse_core::Caller::local());
    calling.connection.record_stall();
    advance(Duration::from_secs(3)).await;
    let mut rests = resting.connection.begin_request();
    rests.mark_admitted(gatehouse_core::Caller::local());
    let mut last = closing.connection.begin_request();
    last.mark_admitted(gatehouse_core::Caller::local());
    last.mark_last();
    drop((rests, last));
    resting.connection.record_flushed();
    closing.connection.record_flushed();
    let every = [&calling, &resting, &closing];
    let order: Vec<usize> = std::iter::from_fn(|| goes(&all, &every)).collect();
    assert_eq!(
        order,
        [2, 1, 0],
        "the one that closes anyway, the one that rests, the one that does not read"
    );
    drop(call);
}

#[tokio::test(start_paused = true)]
async fn a_new_client_waits_a_moment_for_those_that_are_at_work() {
    let all = connections(8);
    let mut entries = Vec::new();
    for _ in 0..8 {
        entries.push(entered(&all).await);
    }
    let leaves = entries.pop();
    let enters = async {
        entered(&all).await;
    };
    let leave = async { drop(leaves) };
    tokio::join!(enters, leave);
    assert!(
        !entries.iter().any(|entry| entry.connection.closing.is_cancelled()),
        "nothing was read of them yet"
    );
    entries.push(entered(&all).await);
    entries[3].connection.record_empty_read();
    let left = async {
        while !entries[3].connection.closing.is_cancelled() {
            tokio::task::yield_now().await;
        }
    };
    let start = Instant::now();
    tokio::select! {
        _ = entered(&all) => panic!("the one that says nothing still has its place"),
        () = left => {}
    };
    assert_eq!(start.elapsed(), Duration::ZERO, "who says nothing goes at once");
}

#[tokio::test]
async fn four_fifths_of_the_places_are_a_crowd() {
    let all = connections(10);
    let mut entries = Vec::new();
    for _ in 0..8 {
        entries.push(entered(&all).await);
    }
    let work = entries[0].connection.begin_request();
    assert!(!work.is_crowded());
    entries.push(entered(&all).await);
    assert!(work.is_crowded());
}

#[tokio::test]
async fn there_are_never_more_than_there_may_be() {
    let all = connections(8);
    let entries: Vec<ConnectionGuard> = {
        let mut entries = Vec::new();
        for _ in 0..8 {
            entries.push(entered(&all).await);
        }
        entries
    };
    let mut works: Vec<_> = entries.iter().map(|entry| entry.connection.begin_request()).collect();
    works.iter_mut().for_each(|work| work.mark_admitted(gatehouse_core::Caller::local()));
    assert!(all.admit(peer()).await.is_none(), "a call runs on each");
    drop(works);
    entries.iter().for_each(|entry| entry.connection.record_flushed());
    // The evicted connection must close before its place is free.
    let waiting = tokio::spawn({
        let all = Arc::clone(&all);
        async move { entered(&all).await }
    });
    while !entries.iter().any(|entry| entry.connection.closing.is_cancelled()) {
        tokio::task::yield_now().await;
    }
    assert!(!waiting.is_finished());
    drop(entries);
    waiting.await.expect("a place");
}

#[tokio::test]
async fn the_slowest_reader_goes_where_replies_take_too_much() {
    let all = connections(100);
    let (slow, fast, calm) = (entered(&all).await, entered(&all).await, entered(&all).await);
    let mut works = [&slow, &fast, &calm].map(|entry| entry.connection.begin_request());
    works.iter_mut().for_each(|work| work.mark_admitted(gatehouse_core::Caller::local()));
    slow.connection.record_stall();
    fast.connection.record_stall();
    works[0].connection.add_unsent(MAX_UNSENT_BYTES / 2);
    works[1].connection.add_unsent(MAX_UNSENT_BYTES / 2);
    assert!(!slow.connection.closing.is_cancelled(), "just enough");
    works[2].connection.add_unsent(100 << 10);
    assert!(slow.connection.closing.is_cancelled() && !fast.connection.closing.is_cancelled());
    works[2].connection.add_unsent(100 << 10);
    assert!(!fast.connection.closing.is_cancelled(), "what the slow one held is given back");
}

#[tokio::test]
async fn each_part_of_an_exchange_has_its_time() {
    let settings = HttpSettings::default();
    let all = connections(100);
    let one = entered(&all).await;
    let at = |seconds| Instant::now() + std::time::Duration::from_secs(seconds);
    let expired = |seconds| one.connection.expired(&settings, at(seconds));
    assert_eq!((expired(9), expired(11)), (None, Some("timed out while reading a request")));
    let mut work = one.connection.begin_request();
    work.mark_admitted(gatehouse_core::Caller::local());
    assert_eq!(expired(3_600), None, "a call has a time of its own");
    one.connection.record_stall();
    assert_eq!((expired(29), expired(31)), (None, Some("the client does not read its reply")));
    one.connection.record_written(1);
    drop(work);
    one.connection.record_flushed();
    assert_eq!((expired(119), expired(121)), (None, Some("idle for too long")));
    one.connection.record_read();
    assert_eq!(expired(11), Some("timed out while reading a request"), "of the next request");
}
