//! `gatehouse status`: shows the configuration, the stores and the running hosts.

mod parts;
mod watch;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use clap::Args;
use gatehouse_core::ports::Clock;
use gatehouse_stores::EmbeddingHealth;
use serde::Serialize;
use serde_json::json;

use self::parts::{FilterSavings, LedgerStatus, OmittedByServer, StatusPart};
use super::{CommandError, GlobalArgs, PlainError, cache};
use crate::{
    compose::{Composition, GateCounts, SystemClock},
    config::{ConfigError, Env, locate},
    out,
    presence::{self, RunningHost},
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Refresh hosts, servers and calls on the terminal at this interval
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", conflicts_with = "json",
          value_parser = clap::value_parser!(u16).range(1..=3600))]
    watch: Option<u16>,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let composition = match global.compose(env) {
        Ok(composition) => composition,
        // Without a valid file, the hosts that still run the last valid version matter most.
        Err(error) => return print_without_config(arguments, global, env, error),
    };
    if let Some(seconds) = arguments.watch {
        return watch::watch(&composition, seconds).await;
    }
    let status = StatusReport::collect(&composition).await;
    if arguments.json {
        out::json(&status)
    } else {
        out::line(status.to_string())
    }
    Ok(())
}

fn print_without_config(
    arguments: &Arguments,
    global: &GlobalArgs,
    env: &Env,
    error: ConfigError,
) -> Result<(), CommandError> {
    let hosts = presence::running(&locate::data_folder(global.config.as_deref(), env));
    if arguments.json {
        out::json(&json!({"version": env!("CARGO_PKG_VERSION"), "error": error.to_string(), "hosts": hosts}));
    } else {
        hosts.iter().for_each(|host| out::line(host.to_string()));
    }
    Err(error.into())
}

/// A configuration, the state of its parts, and the hosts that use its data directory.
#[derive(Serialize)]
struct StatusReport<'a> {
    version: &'static str,
    config: Option<&'a Path>,
    config_passed_over: Option<&'a Path>,
    state: &'a Path,
    cache: cache::CacheUsage<'a>,
    gate_folders: &'a [PathBuf],
    gates: Vec<String>,
    default_preset: &'a str,
    presets: BTreeMap<&'a str, StatusPart<PresetStatus>>,
    knowledge: StatusPart<KnowledgeStatus>,
    documents: StatusPart<DocumentsStatus>,
    artifacts: StatusPart<ArtifactsStatus>,
    ledger: StatusPart<LedgerStatus>,
    savings: BTreeMap<String, FilterSavings>,
    counts: BTreeMap<String, GateCounts>,
    models: ModelsStatus<'a>,
    lacks: Vec<String>,
    left_out: StatusPart<OmittedByServer>,
    hosts: Vec<RunningHost>,
}

#[derive(Serialize)]
struct PresetStatus {
    tools: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct KnowledgeStatus {
    engine: &'static str,
    address: String,
    pages: u32,
    waiting: u32,
    meaning: Option<VectorStatus>,
}

#[derive(Serialize)]
struct DocumentsStatus {
    engine: &'static str,
    address: String,
    repositories: u32,
    files: u32,
    meaning: Option<VectorStatus>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct ArtifactsStatus {
    engine: &'static str,
    address: String,
    artifacts: u32,
    bytes: u64,
    max_bytes: u64,
    meaning: Option<VectorStatus>,
}

#[derive(Serialize)]
struct VectorStatus {
    model: String,
    waiting: u32,
    failing: Option<String>,
}

impl From<EmbeddingHealth> for VectorStatus {
    fn from(EmbeddingHealth { model, waiting, failing }: EmbeddingHealth) -> Self {
        Self { model, waiting, failing }
    }
}

#[derive(Clone, Copy, Serialize)]
struct ModelsStatus<'a> {
    llm: Option<&'a str>,
    web_search: Option<&'a str>,
    embedding: &'a str,
}

impl<'a> StatusReport<'a> {
    async fn collect(composition: &'a Composition) -> Self {
        let (config, models) = (&composition.config, &composition.models);
        let catalogs = composition.catalogs().await;
        let mut warnings = composition.preset_warnings(&catalogs).await;
        let tools = catalogs.into_iter().map(|(name, catalog)| {
            let warnings = warnings.remove(name).unwrap_or_default();
            let tools = catalog.map(|catalog| PresetStatus { tools: catalog.entries().len(), warnings });
            (name, tools.into())
        });
        let health = composition.stores.knowledge.health().await.map(|health| KnowledgeStatus {
            engine: health.engine,
            address: health.address,
            pages: health.items,
            waiting: health.unsearchable,
            meaning: health.embedding.map(Into::into),
        });
        let documents = composition.stores.documents.health().await.map(|health| DocumentsStatus {
            engine: health.engine,
            address: health.address,
            repositories: health.repositories,
            files: health.items,
            meaning: health.embedding.map(Into::into),
            notes: health.notes,
        });
        let artifacts = composition.stores.artifacts.health().await.map(|health| ArtifactsStatus {
            engine: health.engine,
            address: health.address,
            artifacts: health.items,
            bytes: health.bytes,
            max_bytes: config.artifacts.cap,
            meaning: health.embedding.map(Into::into),
        });
        let left_out = composition.omitted_items().await.map(|servers| OmittedByServer { servers });
        let mut counts = composition.counts().await;
        let now = SystemClock.now_ms();
        let savings = counts
            .iter_mut()
            .filter_map(|(gate, counts)| Some((gate.clone(), FilterSavings::take(counts, now)?)))
            .collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            config: config.file.as_deref(),
            config_passed_over: config.choice.ignored.as_ref().map(|ignored| &*ignored.file),
            state: &config.state,
            cache: cache::CacheUsage::measure(config),
            gate_folders: &config.gate_folders,
            gates: composition.gates.names(),
            default_preset: &config.default_preset,
            presets: tools.collect(),
            knowledge: health.into(),
            documents: documents.into(),
            artifacts: artifacts.into(),
            ledger: LedgerStatus::read(composition).await.into(),
            savings,
            counts,
            models: ModelsStatus {
                llm: models.llm.model(),
                web_search: models.llm.web_model(),
                embedding: models.embedder.model(),
            },
            lacks: composition.unmet_grants().await,
            left_out: left_out.map_err(|fault| fault.in_one_line()).into(),
            hosts: presence::running(&config.state),
        }
    }
}

impl fmt::Display for StatusReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folders: Vec<_> = self.gate_folders.iter().map(|folder| folder.to_string_lossy()).collect();
        let config = self.config.map_or("built in".into(), Path::to_string_lossy);
        writeln!(f, "gatehouse {}", self.version)?;
        writeln!(f, "config     {config}")?;
        writeln!(f, "state      {}", self.state.display())?;
        writeln!(f, "cache      {}", self.cache)?;
        writeln!(f, "gates      {} (in {})", self.gates.join(", "), folders.join(", "))?;
        self.knowledge.write_line(f, "knowledge")?;
        self.documents.write_line(f, "\ndocuments")?;
        self.artifacts.write_line(f, "\nartifacts")?;
        self.ledger.write_line(f, "\nledger   ")?;
        self.savings.iter().try_for_each(|(gate, savings)| write!(f, "\nsaved      {gate}: {savings}"))?;
        for (gate, counts) in self.counts.iter().filter(|(_, counts)| !counts.is_empty()) {
            let counts: Vec<_> = counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
            write!(f, "\ncounts     {gate}: {}", counts.join(", "))?;
        }
        let ModelsStatus { llm, web_search, embedding } = self.models;
        let [llm, web] = [llm, web_search].map(|model| model.unwrap_or("none"));
        write!(f, "\nmodels     language: {llm}; web search: {web}; embeddings: {embedding}")?;
        self.lacks.iter().try_for_each(|lack| write!(f, "\n           {lack}"))?;
        if self.left_out.works().is_none_or(|left_out| !left_out.servers.is_empty()) {
            self.left_out.write_line(f, "\nservers  ")?;
        }
        for (name, preset) in &self.presets {
            let mark = if self.default_preset == *name { " (default)" } else { "" };
            write!(f, "\npreset     {name}{mark}: {preset}")?;
        }
        self.hosts.iter().try_for_each(|host| write!(f, "\n{host}"))
    }
}

impl fmt::Display for PresetStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tools", self.tools)?;
        self.warnings.iter().try_for_each(|why| write!(f, "\n           {why}"))
    }
}

impl fmt::Display for DocumentsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, address, repositories, files, meaning, notes } = self;
        write!(f, "{engine}: {files} documents of {repositories} repositories in {address}")?;
        meaning.iter().try_for_each(|vectors| vectors.write_details(f, "part"))?;
        notes.iter().try_for_each(|note| write!(f, "\n           {note}"))
    }
}

impl fmt::Display for ArtifactsStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, address, artifacts, bytes, max_bytes, meaning } = self;
        let [bytes, most] = [*bytes, *max_bytes].map(cache::megabytes);
        write!(f, "{engine}: {artifacts} artifacts, {bytes} of at most {most}, in {address}")?;
        meaning.iter().try_for_each(|vectors| vectors.write_details(f, "summary"))
    }
}

impl VectorStatus {
    /// Writes the progress. `what` names an item with a vector.
    fn write_details(&self, f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
        write!(f, "\n           by meaning with {}; ", self.model)?;
        match self.waiting {
            0 => write!(f, "every {what} has a vector")?,
            waiting => write!(f, "{waiting} vectors pending")?,
        }
        self.failing.iter().try_for_each(|why| write!(f, ": {why}"))
    }
}

impl fmt::Display for KnowledgeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, address, pages, waiting, meaning } = self;
        write!(f, "{engine}: {pages} pages in {address}")?;
        if *waiting > 0 {
            write!(f, "\n           {waiting} of them are not searchable yet")?;
        }
        meaning.iter().try_for_each(|vectors| vectors.write_details(f, "page"))
    }
}
