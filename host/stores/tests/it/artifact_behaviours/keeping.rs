//! Storing artifacts: unchanged, once per text, and within the limit.

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        ArtifactService as _,
        artifacts::{ArtifactChanges, ArtifactDraft},
    },
};

use super::{HOUR, LOCAL, draft, named, shelf, shelf_with, tagged};
use crate::engines::ArtifactFixture;

/// Generates text that compresses to about half of its size at best.
pub(crate) fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b' ' + (state >> 32) as u8 % 95)
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) async fn texts_of_any_kind_come_back_as_they_were<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let long = "Zeile ä🙂\r\n".repeat(300_000);
    for text in ["", "\0", "\n", "\u{feff}\u{10ffff}\r", "{\"a\": [1.0, 2e5]}", &noise(1, 100_000), &long] {
        let kept = shelf.put(draft(text, "x")).await;
        assert_eq!((kept.size, kept.lines), (text.len() as u64, text.lines().count() as u64));
        assert!(shelf.text(&kept.id).await == text);
    }
    let odd = ArtifactDraft {
        summary: Some("NUL \0 and\n'quotes' \"\\ %".into()),
        tool: Some("a.b:c/d".into()),
        ..tagged("odd", "", &["ä ö", "x:y/%_", "'\"\\"])
    };
    let kept = shelf.put(odd).await;
    let info = shelf.info(&kept.id).await.unwrap();
    assert_eq!(info, kept);
    assert_eq!(info.summary.unwrap(), "NUL \u{1a} and\n'quotes' \"\\ %");
    assert_eq!(info.tags, ["'\"\\", "x:y/%_", "ä ö"]);
    assert_eq!(shelf.recent(&["x:y/%_"], "%").await, [kept.id]);
}

pub(crate) async fn the_same_text_again_is_the_same_artifact<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let first = shelf.put(tagged("text", "first", &["b", "a"])).await;
    assert_eq!(first.id, "art-982d9e3eb996");
    assert_eq!((first.preset.as_str(), first.source.as_deref()), ("research", Some("web")));
    assert_eq!(first.expires, Some(first.created + 3 * HOUR));
    shelf.clock.advance(HOUR);
    let again =
        shelf.put(ArtifactDraft { text: "text".into(), tags: vec!["c".into()], ..Default::default() }).await;
    assert_eq!(
        (&again.id, again.created, again.expires),
        (&first.id, first.created, Some(first.created + 4 * HOUR))
    );
    assert_eq!(again.tags, ["a", "b", "c"]);
    assert_eq!((again.summary.as_deref(), again.tool.as_deref()), (Some("first"), Some("fetch_page")));
    let third = shelf.put(ArtifactDraft { tool: Some("other".into()), ..draft("text", "third") }).await;
    assert_eq!((third.summary.as_deref(), third.tool.as_deref()), (Some("third"), Some("other")));
    assert_eq!((shelf.stored().await, shelf.info(&first.id).await), (1, Some(third)));
    // With its own time to live.
    let short = ArtifactDraft { ttl: Some(std::time::Duration::from_millis(5)), ..draft("text", "") };
    assert_eq!(shelf.put(short).await.expires, Some(first.created + HOUR + 5));
    shelf.clock.advance(5);
    // After expiry, it is a new artifact.
    assert_eq!(shelf.put(draft("text", "")).await.summary, None);
}

pub(crate) async fn a_text_that_several_keep_is_stored_once<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let text = noise(7, 400_000);
    let one = shelf.put(draft(&text, "one")).await;
    let before = shelf.store.health().await.unwrap().bytes;
    let (ann, bob) = (named("ann"), named("bob"));
    for owner in [&ann, &bob] {
        assert_eq!(shelf.store.put(owner, draft(&text, "other")).await.unwrap().id, one.id);
    }
    let after = shelf.store.health().await.unwrap().bytes;
    assert!(after < before + 200_000, "{before} {after}");
    assert_eq!(shelf.store.delete(&LOCAL, &one.id).await, Ok(true));
    assert_eq!(shelf.store.delete(&LOCAL, &one.id).await, Ok(false));
    assert_eq!(shelf.store.delete(&ann, &one.id).await, Ok(true));
    let part = gatehouse_core::ports::artifacts::ArtifactPart::Whole;
    assert!(shelf.store.read(&bob, &one.id, &part).await.unwrap().text == text);
    assert_eq!(shelf.store.delete(&bob, &one.id).await, Ok(true));
    assert!(shelf.store.health().await.unwrap().bytes < before - 200_000);
}

pub(crate) async fn what_was_kept_is_there_after_a_restart<F: ArtifactFixture>(engine: F) {
    let here = shelf(&engine);
    let kept = here.put(tagged("text of it", "about bread", &["t"])).await;
    let changes = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
    let pinned = here.store.change(&LOCAL, &kept.id, changes).await.unwrap();
    here.store.close().await;
    drop(here);
    let there = shelf(&engine);
    assert_eq!(there.info(&kept.id).await, Some(pinned));
    assert_eq!(there.text(&kept.id).await, "text of it");
    assert_eq!(there.find("bread").await, [kept.id]);
}

pub(crate) async fn what_is_too_long_or_no_tag_is_refused_and_nothing_is_kept<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let many: Vec<String> = (0..65).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for wrong in [draft("x", &"s".repeat(70_000)), tagged("x", "", &["a\nb"]), tagged("x", "", &many)] {
        assert_eq!(shelf.store.put(&LOCAL, wrong).await.unwrap_err().kind, FaultKind::InvalidArguments);
    }
    assert!(shelf.recent(&[], "").await.is_empty());
    let kept = shelf.put(tagged("x", "", &many[..60])).await;
    let add = ArtifactChanges {
        summary: Some("new".into()),
        add_tags: (0..5).map(|n| format!("t{n}")).collect(),
        ..ArtifactChanges::default()
    };
    let fault = shelf.store.change(&LOCAL, &kept.id, add).await.unwrap_err();
    assert_eq!(fault.message, "artifact has 65 tags; the limit is 64");
    assert_eq!(shelf.info(&kept.id).await, Some(kept));
}

pub(crate) async fn the_cap_counts_all_and_what_is_past_its_time_makes_room<F: ArtifactFixture>(engine: F) {
    let shelf = shelf_with(&engine, 2 << 20);
    let first = shelf.put(draft(&noise(1, 900_000), "first")).await;
    let pin = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
    let second = shelf.put(draft(&noise(2, 800_000), "second")).await;
    let fault = shelf.store.put(&LOCAL, draft(&noise(3, 900_000), "third")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Exhausted);
    assert!(fault.message.contains("the limit is 2097152"), "{fault}");
    assert!(fault.hint.unwrap().contains("raise max_bytes under [artifacts]."));
    assert_eq!(shelf.recent(&[], "").await, [second.id.clone(), first.id.clone()]);
    assert_eq!((shelf.stored().await, shelf.find("third").await), (2, vec![]));
    shelf.store.change(&LOCAL, &second.id, pin).await.unwrap();
    shelf.clock.advance(4 * HOUR);
    let third = shelf.put(draft(&noise(3, 900_000), "third")).await;
    assert_eq!(shelf.recent(&[], "").await, [third.id, second.id]);
    assert_eq!(shelf.stored().await, 2);
    assert_eq!(
        shelf.store.put(&LOCAL, draft(&noise(4, 900_000), "")).await.unwrap_err().kind,
        FaultKind::Exhausted
    );
    assert_eq!(
        shelf.store.put(&LOCAL, draft(&noise(5, 9_000_000), "")).await.unwrap_err().kind,
        FaultKind::Exhausted
    );
}
