//! A host that is killed while it writes or deletes old calls loses no totals and counts nothing twice. Two concurrent
//! writers count correctly.
#![allow(clippy::print_stdout)] // the child reports its progress

use super::*;
use crate::support::process::TestProcess;

const FILE: &str = "GATEHOUSE_TEST_LEDGER";

const WRITTEN: &str = "written";

const AT_ONCE: u64 = 50;

fn writer(place: &Place) -> TestProcess {
    TestProcess::start("ledger::killed::child_that_records_until_killed", [(FILE, place.path.clone())])
}

impl Place {
    fn number(&self, query: &str) -> u64 {
        let db = rusqlite::Connection::open(&self.path).unwrap();
        db.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap() as u64
    }

    /// Returns the total number of calls. Fails if two tables disagree.
    fn adds_up(&self) -> u64 {
        let calls = self.number("SELECT coalesce(sum(calls), 0) FROM ledger_day");
        assert_eq!(self.number("SELECT coalesce(sum(calls), 0) FROM ledger_latency"), calls);
        assert_eq!(self.number("SELECT coalesce(sum(tokens_in), 0) FROM ledger_day"), calls * 3);
        calls
    }

    /// Fails if only part of a day's calls was deleted. The first remaining day may be incomplete.
    fn keeps_whole_days(&self) {
        let kept = "day > (SELECT min(at) / 86400000 FROM ledger_call)";
        let of_days = self.number(&format!("SELECT coalesce(sum(calls), 0) FROM ledger_day WHERE {kept}"));
        let of_calls = "SELECT count(*) FROM (SELECT at / 86400000 AS day FROM ledger_call)";
        assert_eq!(self.number(&format!("{of_calls} WHERE {kept}")), of_days);
    }
}

#[tokio::test]
async fn a_killed_host_loses_nothing_that_is_added_up_and_doubles_nothing() {
    let place = Place::new();
    let mut written = 0;
    for round in 1..=12 {
        let mut writer = writer(&place);
        writer.wait_for_lines(WRITTEN, round * 3);
        written += (round * 3 + writer.kill(WRITTEN).len()) as u64;
        let calls = place.adds_up();
        place.keeps_whole_days();
        let batches = calls / AT_ONCE;
        assert_eq!(calls % AT_ONCE, 0, "part of a batch was stored");
        // The batch in progress may be included.
        assert!((written..=written + 1).contains(&batches), "{batches} of {written}");
        written = batches;
    }
    let ledger = place.ledger();
    assert_eq!(all(&ledger).await[0].calls, written * AT_ONCE);
}

#[tokio::test]
async fn two_processes_on_one_file_count_right() {
    let place = Place::new();
    let mut one = writer(&place);
    one.wait_for_lines(WRITTEN, 1);
    let mut other = writer(&place);
    one.wait_for_lines(WRITTEN, 39);
    other.wait_for_lines(WRITTEN, 40);
    let written = 80 + (one.kill(WRITTEN).len() + other.kill(WRITTEN).len()) as u64;
    let batches = place.adds_up() / AT_ONCE;
    assert!((written..=written + 2).contains(&batches), "{batches} of {written}");
}

/// The child process that the tests above start and kill. Its days are short, so that each batch deletes some calls.
#[tokio::test]
async fn child_that_records_until_killed() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    let place = Place { path, ..Place::new() };
    if place.path.exists() {
        // Continue at the time at which the last child was killed.
        let last = place.number("SELECT coalesce(max(last_called), 0) FROM ledger_day");
        place.clock.advance(last.saturating_sub(place.clock.now_ms()));
    }
    let ledger = place.ledger();
    loop {
        for _ in 0..AT_ONCE {
            ledger.record(place.call("read", SampleEnding::Replied));
        }
        ledger.flush().await.unwrap();
        println!("{WRITTEN}");
        place.clock.advance(DAY / 2);
    }
}
