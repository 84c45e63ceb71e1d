//! Tests of the client's view of failures: one test per kind.

use gatehouse_sdk::FaultKind;

use super::*;

fn full() -> Fault {
    Fault::new(FaultKind::Exhausted, "the disk is full")
}

fn no_digest(_: &str, _: &str, _: u32) -> Result<DigestResult, Fault> {
    Err(Fault::new(FaultKind::Exhausted, "too long"))
}

#[test]
fn an_unreachable_store_leaves_the_result_unchanged() {
    let (reply, log) =
        host().fails("artifacts.put", Fault::unavailable("down")).run_and_hear(|| filtered(&lines(5_000)));
    assert_eq!(reply, None);
    assert_eq!(log, ["Level::Warn: result not shortened: FaultKind::Unavailable"]);
}

#[test]
fn a_full_store_shortens_and_reports_the_loss() {
    host().fails("artifacts.put", full()).run(|| {
        let short = filtered(&lines(5_000)).unwrap();
        let head = head(&short);
        assert_eq!(head["metadata"]["artifactId"], Value::Null);
        assert!(
            head["note"]
                .as_str()
                .unwrap()
                .ends_with("the full result is not stored: the store of results is full")
        );
        assert!(!short.content.iter().any(|content| matches!(content, Content::Link(_))));
        assert_eq!(filtered(&lines(450)), None);
    });
}

#[test]
fn a_long_result_without_a_digest_is_its_first_page() {
    host().digest(no_digest).run(|| {
        assert_eq!(filtered(&lines(450)), None);
        let text = lines(5_000);
        let page = filtered(&text).unwrap();
        let head = head(&page);
        let id = head["metadata"]["artifactId"].as_str().unwrap();
        assert_eq!(
            head["note"],
            format!(
                "characters 1-10000 of 100000; full result stored: get_workspace_file {{\"path\":\"{id}\"}}"
            )
        );
        assert_eq!(page.content[1], Content::Text(text[..10_000].into()));
        assert!(matches!(page.content[2], Content::Link(_)));
    });
}

#[test]
fn a_result_that_cannot_be_stored_is_unchanged() {
    host().digest(no_digest).fails("artifacts.put", full()).run(|| assert_eq!(filtered(&lines(5_000)), None));
    let broken = |_: &str| Err(Fault::internal("broken"));
    host().count(broken).run(|| assert_eq!(filtered(&lines(450)), None));
    host().compact(|_| Err(Fault::internal("broken"))).run(|| assert_eq!(filtered(&lines(450)), None));
}

#[test]
fn shortening_works_without_kv() {
    let down = || Fault::unavailable("down");
    let host = ["kv.get", "kv.set", "kv.add"].into_iter().fold(host(), |host, name| host.fails(name, down()));
    let host = host
        .serving(Some("test/model"), None, "test/embedding")
        .complete(|_, _| completion(&["The document has 5000 lines."], &[]))
        .embed(|_, _| Err(Fault::unavailable("down")));
    host.run(|| {
        for _ in 0..2 {
            let head = head(&filtered(&lines(5_000)).unwrap());
            assert_eq!(head["metadata"]["method"], "test/model");
            assert_eq!(head["metadata"].get("cache"), None);
        }
    });
}
