//! `gatehouse status`: shows the configuration, the stores and the running hosts.

mod parts;

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, IsTerminal as _},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use gatehouse_core::ports::{
    Clock,
    ledger::{MetricsFilter, ToolMetrics},
};
use serde::Serialize;
use serde_json::json;

use self::parts::{FilterSavings, StatusPart};
use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, cache, servers, tools};
use crate::{
    compose::{Composition, GateCounts, SystemClock},
    config::{ConfigError, Env, locate},
    control::{self, RunningHost},
    out, signals,
};

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    output: OutputFormat,
    /// Refresh hosts, servers and calls on the terminal at this interval
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", conflicts_with = "json",
          value_parser = clap::value_parser!(u16).range(1..=3600))]
    watch: Option<u16>,
}

pub(super) async fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = match global.compose_without_servers(env) {
        Ok(composition) => composition,
        // Without a valid file, the hosts that still run the last valid version matter most.
        Err(error) => return print_without_config(arguments, global, env, error).await,
    };
    if let Some(seconds) = arguments.watch {
        return watch(&composition, seconds).await;
    }
    let status = StatusReport::collect(&composition).await;
    arguments.output.print(&status, || out::line(status.to_string()));
    Ok(())
}

async fn print_without_config(
    arguments: &Arguments,
    global: &GlobalArgs,
    env: &Env,
    error: ConfigError,
) -> CommandResult {
    let hosts = control::running(&locate::data_folder(global.config.as_deref(), env)).await;
    let report = json!({"version": env!("CARGO_PKG_VERSION"), "error": error.to_string(), "hosts": hosts});
    arguments.output.print(&report, || hosts.iter().for_each(|host| out::line(host.to_string())));
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
    presets: BTreeMap<&'a str, StatusPart>,
    knowledge: StatusPart,
    documents: StatusPart,
    artifacts: StatusPart,
    ledger: StatusPart,
    savings: BTreeMap<String, FilterSavings>,
    counts: BTreeMap<String, GateCounts>,
    models: ModelsStatus<'a>,
    lacks: Vec<String>,
    left_out: StatusPart,
    quotas: StatusPart,
    /// Tools that count as external-exec because nothing says what they may do, by server.
    undeclared_tools: BTreeMap<String, usize>,
    hosts: Vec<RunningHost>,
    /// Warnings about hosts on another configuration.
    other_configs: Vec<String>,
}

#[derive(Clone, Copy, Serialize)]
struct ModelsStatus<'a> {
    llm: Option<&'a str>,
    web_search: Option<&'a str>,
    embedding: &'a str,
}

impl<'a> StatusReport<'a> {
    async fn collect(composition: &'a Composition) -> Self {
        let (config, models, stores) = (&composition.config, &composition.models, &composition.stores);
        let catalogs = composition.catalogs().await;
        let mut warnings = composition.preset_warnings(&catalogs).await;
        let presets = catalogs.into_iter().map(|(name, catalog)| {
            let tools = catalog.map(|catalog| catalog.entries().len());
            (name, StatusPart::preset(tools, warnings.remove(name).unwrap_or_default()))
        });
        let presets = presets.collect();
        let mut counts = composition.counts().await;
        let now = SystemClock.now_ms();
        let savings = counts
            .iter_mut()
            .filter_map(|(gate, counts)| Some((gate.clone(), FilterSavings::take(counts, now)?)))
            .collect();
        let hosts = control::running(&config.state).await;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            config: config.file.as_deref(),
            config_passed_over: config.choice.ignored.as_ref().map(|ignored| &*ignored.file),
            state: &config.state,
            cache: cache::CacheUsage::measure(config),
            gate_folders: &config.gate_folders,
            gates: composition.gates.names(),
            default_preset: &config.default_preset,
            presets,
            knowledge: StatusPart::knowledge(stores.knowledge.health().await),
            documents: StatusPart::documents(stores.documents.health().await),
            artifacts: StatusPart::artifacts(stores.artifacts.health().await, config.artifacts.cap),
            ledger: StatusPart::ledger(composition).await,
            savings,
            counts,
            models: ModelsStatus {
                llm: models.llm.model(),
                web_search: models.llm.web_model(),
                embedding: models.embedder.model(),
            },
            lacks: composition.unmet_grants().await,
            left_out: StatusPart::omitted(composition.omitted_items().await),
            quotas: StatusPart::quotas(composition.quota_uses().await),
            undeclared_tools: servers::undeclared_tools(composition).await,
            other_configs: hosts.iter().filter_map(|host| host.other_config(config)).collect(),
            hosts,
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
        writeln!(f, "knowledge  {}", self.knowledge.text)?;
        writeln!(f, "documents  {}", self.documents.text)?;
        writeln!(f, "artifacts  {}", self.artifacts.text)?;
        writeln!(f, "ledger     {}", self.ledger.text)?;
        self.savings.iter().try_for_each(|(gate, savings)| writeln!(f, "saved      {gate}: {savings}"))?;
        for (gate, counts) in self.counts.iter().filter(|(_, counts)| !counts.is_empty()) {
            let counts: Vec<_> = counts.iter().map(|(name, number)| format!("{name} {number}")).collect();
            writeln!(f, "counts     {gate}: {}", counts.join(", "))?;
        }
        let ModelsStatus { llm, web_search, embedding } = self.models;
        let [llm, web] = [llm, web_search].map(|model| model.unwrap_or("none"));
        write!(f, "models     language: {llm}; web search: {web}; embeddings: {embedding}")?;
        f.write_str(&parts::lines(&self.lacks))?;
        if !self.left_out.text.is_empty() {
            write!(f, "\nservers    {}", self.left_out.text)?;
        }
        if !self.quotas.text.is_empty() {
            write!(f, "\nquotas     {}", self.quotas.text)?;
        }
        if !self.undeclared_tools.is_empty() {
            let tools =
                self.undeclared_tools.iter().map(|(server, tools)| format!("{tools} tools of {server}"));
            let tools = tools.collect::<Vec<_>>().join(", ");
            write!(
                f,
                "\neffects    unknown for {tools}: no summary of them is reused for a similar question, and requests need \
                 the marks of EXECUTE. Run `gatehouse servers review`"
            )?;
        }
        for (name, preset) in &self.presets {
            let mark = if self.default_preset == *name { " (default)" } else { "" };
            write!(f, "\npreset     {name}{mark}: {}", preset.text)?;
        }
        self.hosts.iter().try_for_each(|host| write!(f, "\n{host}"))?;
        self.other_configs.iter().try_for_each(|warning| write!(f, "\nwarning    {warning}"))
    }
}

/// Maximum number of tools, by calls. More rows would not fit on most terminals.
const MAX_TOOLS: usize = 15;

async fn watch(composition: &Composition, seconds: u16) -> CommandResult {
    if !io::stdout().is_terminal() {
        let reason = "--watch requires a terminal; `gatehouse status --json` prints the state once";
        return Err(CommandError::usage(reason));
    }
    let stop = signals::shutdown_token(None);
    let mut ticks = tokio::time::interval(Duration::from_secs(seconds.into()));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return Ok(()),
            _ = ticks.tick() => out::screen(&screen(composition, seconds).await),
        }
    }
}

async fn screen(composition: &Composition, seconds: u16) -> Vec<String> {
    let state = &composition.config.state;
    let hosts = control::running(state).await;
    let mut lines = vec![format!("{}, every {seconds} s; Ctrl-C ends", state.display())];
    if hosts.is_empty() {
        lines.push("No host uses this data directory.".into());
    }
    // One line per element, because each is cut at the end of the line.
    for host in &hosts {
        lines.extend(host.to_string().lines().map(str::to_owned));
    }
    if hosts.iter().any(|host| !host.servers.is_empty()) {
        lines.push(String::new());
        lines.extend(servers::states(&hosts, &[]));
    }
    lines.push(String::new());
    match today(composition).await {
        Ok(metrics) if metrics.is_empty() => lines.push("No calls today.".into()),
        Ok(metrics) => {
            let calls: u64 = metrics.iter().map(|entry| entry.calls).sum();
            let busiest_tools: Vec<&ToolMetrics> = metrics.iter().take(MAX_TOOLS).collect();
            lines.push(format!("{calls} calls of {} tools today", metrics.len()));
            lines.extend(tools::busiest(&busiest_tools));
        }
        Err(reason) => lines.push(reason.into()),
    }
    lines
}

/// Returns today's metrics, busiest tool first, or the reason why they are unavailable.
async fn today(composition: &Composition) -> Result<Vec<ToolMetrics>, PlainError> {
    if composition.stores.ledger.is_none() {
        return Err("Calls are not recorded: enabled = false under [ledger] in presets.toml.".into());
    }
    let filter = MetricsFilter { days: Some(1), ..MetricsFilter::default() };
    let mut metrics = composition.stores.metrics(&filter).await?;
    metrics.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
    Ok(metrics)
}
