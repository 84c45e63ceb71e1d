#![allow(clippy::print_stderr)]
use crate::support::*;
use gatehouse_core::ports::{Knowledge as _, knowledge::Filters};
#[tokio::test]
async fn perf() {
    let wiki = std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/wiki"));
    for copies in [1, 100] {
        let house = House::with(&wiki);
        for d in ["workflows", "principles", "implementations", "environments", "heuristics"] {
            for e in std::fs::read_dir(wiki.join(d)).unwrap() {
                let e = e.unwrap();
                let t = std::fs::read_to_string(e.path()).unwrap();
                for c in 1..copies {
                    std::fs::write(
                        house.wiki().join(d).join(format!("{c}_{}", e.file_name().to_string_lossy())),
                        &t,
                    )
                    .unwrap();
                }
            }
        }
        let graph = house.open();
        let t = std::time::Instant::now();
        let r = index(&graph, &house.wiki()).await;
        eprintln!("index {} pages {:?}", r.added, t.elapsed());
        let t = std::time::Instant::now();
        index(&graph, &house.wiki()).await;
        eprintln!("again {:?}", t.elapsed());
        for q in [
            "QLoRA fine-tuning",
            "how to choose the LoRA rank for training a model with unsloth",
            "GGUF",
            "unsloth",
        ] {
            let mut times = vec![];
            for _ in 0..20 {
                let t = std::time::Instant::now();
                graph.search(q, &Filters::default(), 5).await.unwrap();
                times.push(t.elapsed());
            }
            times.sort();
            let hits = graph.search(q, &Filters::default(), 5).await.unwrap().hits;
            assert_eq!(hits.len(), 5);
            eprintln!("{q}: {:?}", times[10]);
        }
    }
}
