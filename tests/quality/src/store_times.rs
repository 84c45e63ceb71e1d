//! Times of the stores through the ports that gates use: in files, or on a PostgreSQL server.

use std::{path::Path, sync::Arc, time::Duration, time::Instant};

use anyhow::{Context as _, Result, anyhow};
use gatehouse_core::{
    Principal,
    ports::{
        ArtifactService, Clock, KvStore,
        artifacts::{ArtifactDraft, ArtifactPart},
        kv::KvQuota,
    },
};
use gatehouse_stores::{ArtifactLimits, ArtifactStore, KvTables, PostgresConfig};
use serde_json::{Value, json};
use tokio::task::JoinSet;

const CALLS: usize = 200;

/// Writers that store at the same time, each this many times.
const WRITERS: usize = 12;
const WRITES: usize = 50;

/// Bytes of a text, as of a long result of a tool.
const TEXT_BYTES: usize = 20_000;

struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        1_767_960_000_000
    }
}

/// Measures the stores on a server, or in files without a URL.
pub(crate) async fn run(url: Option<&str>) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let artifacts = Arc::new(artifacts(folder.path(), url)?);
    let kv = Arc::new(kv(folder.path(), url)?);
    let owner = Principal::Named("bench".into());
    let (mut puts, mut reads, mut adds) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..CALLS {
        let draft = draft("alone", number);
        let artifact = timed(&mut puts, artifacts.put(&owner, draft)).await?;
        timed(&mut reads, artifacts.read(&owner, &artifact.id, &ArtifactPart::Whole)).await?;
        timed(&mut adds, kv.add("bench", "count", 1, None, KvQuota::of_gate(1 << 20))).await?;
    }
    let (artifacts_sink, kv_sink) = (Arc::clone(&artifacts), Arc::clone(&kv));
    let puts_per_s = rate(move |writer, number| {
        let (artifacts, owner) = (Arc::clone(&artifacts_sink), Principal::Named(format!("w{writer}").into()));
        async move { artifacts.put(&owner, draft(&format!("w{writer}"), number)).await.map(drop) }
    })
    .await?;
    let adds_per_s = rate(move |writer, _| {
        let (kv, gate) = (Arc::clone(&kv_sink), format!("g{writer}"));
        async move { kv.add(&gate, "n", 1, None, KvQuota::of_gate(1 << 20)).await.map(drop) }
    })
    .await?;
    artifacts.close().await;
    kv.close().await;
    Ok(json!({
        "put_p50_ms": median(&mut puts), "read_p50_ms": median(&mut reads), "add_p50_ms": median(&mut adds),
        "puts_per_s": puts_per_s, "adds_per_s": adds_per_s, "n": CALLS,
    }))
}

fn config(url: &str) -> Result<PostgresConfig> {
    PostgresConfig::parse(url).map_err(|fault| anyhow!(fault.message))
}

fn artifacts(folder: &Path, url: Option<&str>) -> Result<ArtifactStore> {
    let limits = ArtifactLimits { ttl: Duration::from_hours(1), cap: 1 << 40, cap_setting: "cap".into() };
    Ok(match url {
        None => ArtifactStore::sqlite(folder.join("artifacts.db"), limits, Arc::new(Now), None),
        Some(url) => ArtifactStore::postgres(config(url)?, limits, Arc::new(Now), None),
    })
}

fn kv(folder: &Path, url: Option<&str>) -> Result<KvTables> {
    Ok(match url {
        None => KvTables::sqlite(folder.join("kv.db"), Arc::new(Now)),
        Some(url) => KvTables::postgres(config(url)?, Arc::new(Now)),
    })
}

/// Returns a result of its own, in which nearly every line differs from those of others.
fn draft(writer: &str, number: usize) -> ArtifactDraft {
    let line =
        |line: usize| format!("{writer} {number}: item {line} costs {}\n", (line * 7_919 + number) % 10_007);
    let mut text: String = (0..TEXT_BYTES / 25).map(line).collect();
    text.truncate(TEXT_BYTES);
    let summary = Some(format!("prices of {number} by {writer}"));
    ArtifactDraft { text, mime_type: "text/plain".into(), summary, ..ArtifactDraft::default() }
}

async fn timed<T>(
    times: &mut Vec<f64>,
    call: impl Future<Output = Result<T, gatehouse_core::Fault>>,
) -> Result<T> {
    let start = Instant::now();
    let value = call.await.map_err(|fault| anyhow!(fault.message))?;
    times.push(start.elapsed().as_secs_f64() * 1e3);
    Ok(value)
}

/// Returns the writes a second of [`WRITERS`] writers.
async fn rate<F>(write: impl Fn(usize, usize) -> F + Clone + Send + Sync + 'static) -> Result<f64>
where
    F: Future<Output = Result<(), gatehouse_core::Fault>> + Send,
{
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let write = write.clone();
        writers.spawn(async move {
            for number in 0..WRITES {
                write(writer, number).await.map_err(|fault| anyhow!(fault.message))?;
            }
            Ok::<(), anyhow::Error>(())
        });
    }
    while let Some(done) = writers.join_next().await {
        done.context("a writer panicked")??;
    }
    Ok((WRITERS * WRITES) as f64 / start.elapsed().as_secs_f64())
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
