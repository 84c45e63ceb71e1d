//! Cost of storing and finding artifacts as their number grows.
#![allow(clippy::print_stdout)] // prints the figures

use std::time::{Duration, Instant};

use gatehouse_core::ports::{
    ArtifactService as _,
    artifacts::{ArtifactFilter, ArtifactPart, TextRange},
};

use super::{LOCAL, Shelf, draft, keeping::noise, meaning::until_complete, shelf_by_meaning};
use crate::{embedder::TestEmbedder, engines::ArtifactFixture};

/// Numbers of artifacts at which to measure. `GATEHOUSE_TEST_GROWTH` sets the last one.
fn steps() -> Vec<u64> {
    let most = std::env::var("GATEHOUSE_TEST_GROWTH").ok().and_then(|most| most.parse().ok()).unwrap_or(400);
    [100, 1_000, 10_000].into_iter().filter(|step| *step < most).chain([most]).collect()
}

async fn median(mut run: impl AsyncFnMut()) -> Duration {
    let mut times = Vec::new();
    for _ in 0..9 {
        let begin = Instant::now();
        run().await;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

async fn fill(shelf: &Shelf, from: u64, to: u64) -> String {
    let mut last = String::new();
    for n in from..to {
        let text = format!("{n} {}", noise(n, 4_000));
        let summary = format!("number{n} about bread and {} of {}", noise(n, 200), n % 97);
        last = shelf.put(draft(&text, &summary)).await.id;
    }
    last
}

pub(crate) async fn thousands_of_artifacts_are_found_as_soon_as_hundreds<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 256);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let mut there = 0;
    for step in steps() {
        let begin = Instant::now();
        let last = fill(&shelf, there, step).await;
        let put = begin.elapsed() / u32::try_from(step - there).unwrap();
        there = step;
        until_complete(&shelf).await;
        let rare = format!("number{}", step / 2);
        let lines = ArtifactPart::Lines(TextRange { offset: 0, count: 1 });
        let read = median(async || drop(shelf.store.read(&LOCAL, &last, &lines).await.unwrap())).await;
        let search = median(async || assert!(!shelf.find(&rare).await.is_empty())).await;
        let common = median(async || assert_eq!(shelf.find("bread").await.len(), 5)).await;
        let all = ArtifactFilter::default();
        let recent = median(async || drop(shelf.store.recent(&LOCAL, &all, 20).await.unwrap())).await;
        let narrowed = median(async || assert_eq!(shelf.recent(&[], &rare).await.len(), 1)).await;
        println!(
            "{} {step}: put {put:.1?}, read {read:.1?}, search {search:.1?} (a word of all {common:.1?}), \
             recent {recent:.1?} (by a rare word {narrowed:.1?}), {} bytes",
            F::NAME,
            shelf.store.health().await.unwrap().bytes
        );
    }
    assert_eq!(u64::from(shelf.stored().await), there);
}
