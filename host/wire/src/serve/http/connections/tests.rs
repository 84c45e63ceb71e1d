//! Tests of eviction order.

use std::collections::HashMap;

use gatehouse_core::Caller;
use tokio::time::advance;

use super::{super::active_request::ActiveRequest, *};

fn connections(most: usize) -> Arc<OpenConnections> {
    let settings = HttpSettings { connections: most, ..HttpSettings::default() };
    OpenConnections::new(settings)
}

fn peer() -> SocketAddr {
    ([127, 0, 0, 1], 40_000).into()
}

fn entered(all: &Arc<OpenConnections>) -> ConnectionGuard {
    all.admit(peer()).expect("a place")
}

/// Starts a request of a principal, or of the local user.
fn request(entry: &ConnectionGuard, name: Option<&str>) -> ActiveRequest {
    let mut work = ActiveRequest::new(&entry.connection);
    let caller = name.map_or_else(Caller::local, Caller::named);
    let has_room = work.charge(Arc::clone(&caller), &caller.principal);
    assert!(has_room, "{name:?} has too many connections");
    work
}

fn is_closing(entry: &ConnectionGuard) -> bool {
    entry.connection.closing.is_cancelled()
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

#[tokio::test(start_paused = true)]
async fn strangers_go_first_and_running_calls_never() {
    let all = connections(100);
    let [calling, resting, standing, sending, first, second] = [(); 6].map(|()| entered(&all));
    let call = request(&calling, None);
    let mut stream = request(&standing, None);
    stream.enter_listening();
    let body = request(&sending, None);
    body.enter_body();
    drop(request(&resting, None));
    resting.connection.record_flushed();
    // A request without a token does not authenticate a client, and the last one is still being checked.
    let refused = ActiveRequest::new(&first.connection);
    advance(Duration::from_secs(1)).await;
    let asking = entered(&all);
    asking.connection.record_empty_read();
    let asked = ActiveRequest::new(&asking.connection);
    for entry in [&first, &second] {
        entry.connection.record_empty_read();
    }
    let every = [&calling, &resting, &standing, &sending, &first, &second, &asking];
    let order: Vec<usize> = std::iter::from_fn(|| goes(&all, &every)).collect();
    assert_eq!(order, [4, 5, 1, 3, 2], "strangers by age, who rests, who sends, who waits for changes");
    assert!(!is_closing(&calling));
    drop((call, stream, body, refused, asked));
}

/// Opens a stream of changes for a principal.
fn stream(entry: &ConnectionGuard, name: &str) -> ActiveRequest {
    let mut work = request(entry, Some(name));
    work.enter_listening();
    work
}

#[tokio::test(start_paused = true)]
async fn room_is_made_by_the_principal_with_most_connections_and_its_newest_stream() {
    let all = connections(8);
    let owners = ["ann", "bob", "bob", "bob", "carl", "bob", "ann", "bob"];
    let entries: Vec<_> = owners.iter().map(|_| entered(&all)).collect();
    let mut streams = Vec::new();
    for (entry, name) in entries.iter().zip(owners) {
        streams.push(stream(entry, name));
        advance(Duration::from_millis(1)).await;
    }
    // When bob opened his fifth, another of his was closed for it.
    assert!(is_closing(&entries[5]));
    let stranger = entered(&all);
    assert!(stranger.connection.has_place());
    stranger.connection.record_empty_read();
    assert!(!stranger.connection.is_dispensable(), "its request may be on its way");
    advance(MIN_HEADER_TIME).await;
    let another = entered(&all);
    assert!(is_closing(&stranger) && another.connection.has_place(), "a stranger goes before a stream");
    let _third = entered(&all);
    assert!(is_closing(&entries[7]) && !is_closing(&entries[0]), "the newest stream of bob");
    assert!(all.make_room() && is_closing(&entries[3]));
}

#[tokio::test(start_paused = true)]
async fn streams_of_many_people_are_closed_only_for_a_request_that_has_waited() {
    let all = connections(8);
    let entries: Vec<_> = (0..8).map(|_| entered(&all)).collect();
    let streams: Vec<_> = entries
        .iter()
        .zip("abcdefgh".chars())
        .map(|(entry, name)| stream(entry, &name.to_string()))
        .collect();
    let new = entered(&all);
    assert!(!new.connection.has_place() && !entries.iter().any(is_closing), "each has its share");
    let mut work = ActiveRequest::new(&new.connection);
    let start = Instant::now();
    assert!(work.wait_for_place().await);
    assert_eq!(start.elapsed(), MAX_PLACE_WAIT);
    assert_eq!(entries.iter().filter(|entry| is_closing(entry)).count(), 1);
    let caller = Caller::named("i");
    assert!(work.charge(Arc::clone(&caller), &caller.principal), "its only connection");
    drop(streams);
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_leave_connections_for_others_and_for_probes() {
    let all = connections(80);
    let mut entries = Vec::new();
    let mut works = Vec::new();
    let caller = Caller::named("bob");
    for number in 1..=80 {
        let entry = entered(&all);
        let mut work = ActiveRequest::new(&entry.connection);
        if work.charge(Arc::clone(&caller), &caller.principal) {
            assert!(number <= 70, "{number}");
            works.push(work);
            entries.push(entry);
        }
    }
    assert_eq!(works.len(), 70, "the others were refused, and closed");
    for name in ["ann", "carl"] {
        let theirs: Vec<_> = (0..5).map(|_| entered(&all)).collect();
        works.extend(theirs.iter().map(|entry| request(entry, Some(name))));
        entries.extend(theirs);
    }
    let extra: Vec<_> = (0..20 + PROBE_CONNECTIONS).map(|_| entered(&all)).collect();
    assert!(extra.iter().all(|entry| !entry.connection.has_place()));
    let probes: Vec<_> = extra.iter().map(|entry| ActiveRequest::new(&entry.connection)).collect();
    assert!(all.admit(peer()).is_none(), "requests wait on all");
    let start = Instant::now();
    assert!(!probes[0].wait_for_place().await);
    assert_eq!(start.elapsed(), MAX_PLACE_WAIT);
    let all_wait = all.waiting.try_acquire_many(20).expect("nobody waits");
    assert!(!probes[0].wait_for_place().await);
    assert_eq!(start.elapsed(), MAX_PLACE_WAIT, "not again");
    drop((works.pop(), entries.pop(), all_wait));
    assert!(probes[1].wait_for_place().await);
    assert!(!extra.iter().chain(&entries).any(is_closing));
    drop(probes);
    extra.iter().for_each(|entry| entry.connection.record_flushed());
    let _new = [entered(&all), entered(&all)];
    assert!(is_closing(&extra[0]) || is_closing(&extra[2]), "one that waits for nothing goes");
}

#[tokio::test]
async fn a_connection_belongs_to_whom_it_served_last() {
    let all = connections(16);
    let entries: Vec<_> = (0..14).map(|_| entered(&all)).collect();
    for entry in &entries {
        drop(request(entry, Some("bob")));
        drop(request(entry, Some("ann")));
    }
    assert_eq!(all.table().owners, HashMap::from([(Principal::Named("ann".into()), 14)]));
    drop(entries);
    assert!(all.table().owners.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reply_on_its_way_is_no_rest() {
    let all = connections(100);
    let one = entered(&all);
    let work = request(&one, None);
    work.connection.add_unsent(10);
    one.connection.record_stall();
    advance(Duration::from_secs(3)).await;
    assert_eq!(one.connection.eviction_rank(), None, "a call is running");
    one.connection.record_written(1);
    drop(work);
    assert_eq!(one.connection.eviction_rank(), None);
    one.connection.record_stall();
    assert_eq!(one.connection.eviction_rank(), None, "the network is full for a moment");
    advance(Duration::from_secs(2)).await;
    assert!(one.connection.eviction_rank().is_some());
}

#[tokio::test]
async fn four_fifths_of_the_places_are_a_crowd() {
    let all = connections(10);
    let mut entries = Vec::new();
    for _ in 0..8 {
        entries.push(entered(&all));
    }
    let work = ActiveRequest::new(&entries[0].connection);
    assert!(!work.is_crowded());
    entries.push(entered(&all));
    assert!(work.is_crowded());
}

#[tokio::test]
async fn the_slowest_reader_goes_where_replies_take_too_much() {
    let all = connections(100);
    let (slow, fast, calm) = (entered(&all), entered(&all), entered(&all));
    let mut works = [&slow, &fast, &calm].map(|entry| ActiveRequest::new(&entry.connection));
    works.iter_mut().for_each(|work| assert!(work.charge(Caller::local(), &Principal::Local)));
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
    let one = entered(&all);
    let at = |seconds| Instant::now() + std::time::Duration::from_secs(seconds);
    let expired = |seconds| one.connection.expired(&settings, at(seconds));
    assert_eq!((expired(9), expired(11)), (None, Some("timed out while reading a request")));
    let mut work = ActiveRequest::new(&one.connection);
    assert!(work.charge(Caller::local(), &Principal::Local));
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
