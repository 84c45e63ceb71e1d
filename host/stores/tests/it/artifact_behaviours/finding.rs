//! Lists and searches of artifacts.

use std::slice::from_ref;

use gatehouse_core::ports::{
    ArtifactService as _,
    artifacts::{ArtifactChanges, ArtifactFilter, MatchQuality},
};

use super::{LOCAL, draft, shelf, tagged};
use crate::engines::ArtifactFixture;

pub(crate) async fn lists_are_narrowed_by_tags_and_words_and_newest_first<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let mut ids = Vec::new();
    for (text, summary, tags) in [
        ("1", "Prices of Bread", &["shop", "eu"][..]),
        ("2", "prices of trains", &["eu"]),
        ("3", "", &["shop"]),
        ("4", "ÄPFEL", &[]),
    ] {
        ids.push(shelf.put(tagged(text, summary, tags)).await.id);
        shelf.clock.advance(1);
    }
    let [one, two, three, four] = &ids[..] else { unreachable!() };
    assert_eq!(shelf.recent(&[], "").await, [four, three, two, one].map(String::clone));
    assert_eq!(shelf.recent(&["shop"], "").await, [three, one].map(String::clone));
    assert_eq!(shelf.recent(&["shop", "eu"], "").await, from_ref(one));
    assert_eq!(shelf.recent(&["sho"], "").await, [""; 0]);
    assert_eq!(shelf.recent(&[], "PRICES of").await, [two, one].map(String::clone));
    assert_eq!(shelf.recent(&["eu"], "bread prices").await, from_ref(one));
    assert_eq!(shelf.recent(&[], "äpfel").await, from_ref(four));
    assert_eq!(shelf.recent(&[], "fetch_page shop").await, [three, one].map(String::clone));
    assert_eq!(shelf.recent(&[], "pri_es").await, [""; 0]);
    // Storing it again does not change its position.
    shelf.put(draft("1", "")).await;
    let filter = ArtifactFilter::default();
    let newest = shelf.store.recent(&LOCAL, &filter, 2).await.unwrap();
    assert_eq!(newest.iter().map(|artifact| &artifact.id).collect::<Vec<_>>(), [four, three]);
    let asked = [two.clone(), "art-000000000000".into(), four.clone(), two.clone(), "'\0".into()];
    let info = shelf.store.info(&LOCAL, &asked).await.unwrap();
    let found: Vec<_> = info.iter().map(|info| info.as_ref().map(|info| &info.id)).collect();
    assert_eq!(found, [Some(two), None, Some(four), Some(two), None]);
}

pub(crate) async fn words_are_found_in_summaries_names_and_tags<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let mut often = draft("1", "The list of packages names libgpg twice, packages of Debian.");
    often.tool = Some("list_packages".into());
    let often = shelf.put(often).await.id;
    let once = shelf.put(draft("2", "Weather of the week, with a package of warnings.")).await.id;
    let tag = shelf.put(tagged("3", "Nothing else", &["warnings"])).await.id;
    shelf.put(draft("4", "Trains")).await;
    assert_eq!(shelf.find("packages").await, [often.clone(), once.clone()]);
    let mut both = shelf.find("warning").await;
    both.sort();
    let mut expected = [once, tag];
    expected.sort();
    assert_eq!(both, expected);
    assert_eq!(shelf.find("zebra").await, [""; 0]);
    let hits = shelf.store.search(&LOCAL, "packages of Debian", 1).await.unwrap();
    assert_eq!((hits.len(), &hits[0].artifact.id, hits[0].fit), (1, &often, MatchQuality::Good));
    assert!(hits[0].score > 0.9 && hits[0].artifact.tool.as_deref() == Some("list_packages"));
    let chinese = shelf.put(draft("5", "导出模型的格式")).await.id;
    assert_eq!(shelf.find("模型").await, [chinese]);
}

pub(crate) async fn a_change_of_the_summary_is_found_and_the_old_one_is_not<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let kept = shelf.put(tagged("1", "about bread", &["old"])).await;
    shelf.put(draft("2", "about trains")).await;
    let changes = ArtifactChanges {
        summary: Some("about oranges".into()),
        add_tags: vec!["new".into(), "old".into()],
        pinned: None,
    };
    let changed = shelf.store.change(&LOCAL, &kept.id, changes).await.unwrap();
    assert_eq!(
        (changed.summary.as_deref(), changed.tags.join(" ")),
        (Some("about oranges"), "new old".into())
    );
    assert_eq!((changed.created, changed.expires), (kept.created, kept.expires));
    assert_eq!(shelf.find("oranges").await, from_ref(&kept.id));
    assert_eq!(shelf.find("bread").await, [""; 0]);
    assert_eq!(shelf.recent(&["new"], "oranges").await, from_ref(&kept.id));
    assert_eq!(shelf.recent(&[], "bread").await, [""; 0]);
    shelf.store.delete(&LOCAL, &kept.id).await.unwrap();
    assert_eq!((shelf.find("oranges").await, shelf.recent(&["new"], "").await), (vec![], vec![]));
}

pub(crate) async fn any_text_is_a_valid_query<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    assert_eq!(shelf.find("bread").await, [""; 0]);
    shelf.put(draft("1", "about bread")).await;
    let long = "word ".repeat(10_000);
    for query in ["", " ", "\0", "\"", "a AND (b OR", "bread* NEAR(x)", "'; --", "%", "🙂", &long] {
        let _ = shelf.find(query).await;
        let _ = shelf.recent(&[query], query).await;
    }
}
