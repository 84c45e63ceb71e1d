//! Adding, listing and removing document repositories.

use std::{fs, process::Stdio};

use super::{add, place};
use crate::support::Place;

fn counts(report: &serde_json::Value) -> [u64; 4] {
    ["added", "updated", "unchanged", "removed"].map(|name| report["report"][name].as_u64().expect(name))
}

fn filled(place: &Place) {
    for number in 0..100 {
        place.write(
            &format!("docs/part{}/page{number}.md", number % 7),
            format!("# Page {number}\n\nIt is about item{number}.\n"),
        );
    }
}

#[test]
fn adding_again_reads_what_changed_and_nothing_else() {
    let place = place();
    filled(&place);
    assert_eq!(counts(&add(&place)), [100, 0, 0, 0]);
    assert_eq!(counts(&add(&place)), [0, 0, 100, 0]);
    place.write("docs/part0/page0.md", "# Page 0\n\nIt is about something else.\n");
    place.write("docs/new.md", "# New\n\nA new page.\n");
    fs::remove_file(place.path("docs/part1/page1.md")).expect("remove a page");
    let report = place.run(&["docs", "refresh", "docs", "--json"]).json();
    assert_eq!(counts(&report[0]), [1, 1, 98, 1]);
    let found = |query: &str| place.run(&["docs", "search", "docs", query, "--mode", "text"]).stdout();
    assert!(found("something else").starts_with("1. part0/page0.md"), "{}", found("something else"));
    assert!(found("item1").starts_with("Nothing found") || !found("item1").contains("part1/page1.md"));
    assert!(place.run(&["docs", "list"]).stdout().starts_with("docs  100 documents"));
    assert!(
        place.run(&["docs", "get", "docs", "new.md", "--lines", "3"]).stdout().starts_with("A new page.")
    );
    let guide = place.run(&["docs", "guide", "docs"]).stdout();
    assert!(guide.lines().count() <= 150 && guide.contains("part3"), "{guide}");
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let place = place();
    filled(&place);
    let folder = place.path("docs").display().to_string();
    for _ in 0..3 {
        let mut command = place.command(&["docs", "add", &folder, "--name", "docs"]);
        let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start");
        // Kill it once the database exists, at an arbitrary point.
        while !place.path("state/documents.db").exists() && run.try_wait().expect("its state").is_none() {
            std::thread::yield_now();
        }
        let _ = run.kill();
        run.wait().expect("its end");
    }
    let [added, updated, unchanged, removed] = counts(&add(&place));
    assert_eq!((added + unchanged, updated, removed), (100, 0, 0));
    assert_eq!(counts(&add(&place)), [0, 0, 100, 0]);
}

#[test]
fn two_at_once_end_with_every_document() {
    let place = place();
    filled(&place);
    let folder = place.path("docs").display().to_string();
    let start = || {
        let mut command = place.command(&["docs", "add", &folder, "--name", "docs", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start")
    };
    for run in [start(), start()] {
        let ended = run.wait_with_output().expect("its end");
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    assert_eq!(counts(&add(&place)), [0, 0, 100, 0]);
}

#[test]
fn a_checkout_keeps_its_address_and_commit_and_leaves_out_what_git_ignores() {
    let place = place();
    place.write("docs/readme.md", "# Read me\n");
    place.write("docs/.gitignore", "secret.md\n/build/\n");
    place.write("docs/secret.md", "# Secret\n");
    place.write("docs/build/out.md", "# Built\n");
    place.write("docs/.git/HEAD", "ref: refs/heads/main\n");
    place.write("docs/.git/refs/heads/main", "0123456789abcdef0123456789abcdef01234567\n");
    place.write(
        "docs/.git/config",
        "[remote \"origin\"]\n\turl = https://me:t0ken@example.org/brew/docs.git\n\tfetch = +refs/*:refs/*\n",
    );
    assert_eq!(counts(&add(&place)), [1, 0, 0, 0]);
    let list = place.run(&["docs", "list", "--json"]).json();
    assert_eq!(list[0]["url"], "https://example.org/brew/docs.git");
    assert_eq!(list[0]["commit"], "0123456789abcdef0123456789abcdef01234567");
    assert!(!list.to_string().contains("t0ken"), "{list}");
}

#[test]
fn what_cannot_be_done_says_why() {
    let place = place();
    let says = |arguments: &[&str], code: i32, reason: &str| {
        let ran = place.run(arguments);
        assert!(ran.code() == code && ran.stderr().contains(reason), "{}: {}", ran.code(), ran.stderr());
    };
    says(&["docs", "add", "nowhere"], 1, "nowhere");
    says(&["docs", "remove", "none"], 2, "there is no repository 'none'. Add one");
    says(&["docs", "get", "none", "a.md", "--lines", "9-4"], 2, "write lines as 10-20");
    place.write("docs/a.md", "# A\n");
    add(&place);
    says(&["docs", "search", "dcos", "q"], 1, "repository 'dcos' not found");
    assert_eq!(place.run(&["docs", "remove", "docs"]).stdout(), "removed docs (1 documents)\n");
    assert!(place.run(&["docs", "list"]).stdout().starts_with("No repositories yet."));
    assert!(place.path("docs/a.md").exists());
}
