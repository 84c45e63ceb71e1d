//! `gatehouse docs add`, `refresh` and `guide`: the commands that read directories and write guides.

use std::{cmp::Reverse, sync::Arc};

use gatehouse_core::ports::{DocumentReader, DocumentStore};
use gatehouse_documents::{
    FileNotes, FolderScan, GuideOutcome, GuidePolicy, IndexProgress, IndexRunReport, IndexSource, Options,
    index,
};
use gatehouse_stores::DocumentLibrary;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{AddRepositoryArgs, CommandError, CommandResult, MAX_VECTOR_WAIT, OutputFormat, find_repository};
use crate::{compose::Composition, out, progress};

const MAX_NAMED_FILES: usize = 10;

pub(super) async fn add(
    library: &DocumentLibrary,
    host: &Composition,
    arguments: AddRepositoryArgs,
) -> CommandResult {
    let AddRepositoryArgs { dir, name, url, output } = arguments;
    let root = std::path::absolute(&dir)
        .map_err(|error| CommandError::failed(format!("{}: {error}", dir.display())))?;
    let folder_name = || root.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let missing = || format!("{} has no name; give one with --name", root.display());
    let name = name.or_else(folder_name).ok_or_else(missing).map_err(CommandError::usage)?;
    check_name(&name)?;
    let mut runs = IndexRuns::new(library, host, GuidePolicy::WhenDue).await;
    let report = runs.run(IndexSource { root, name: name.clone(), url }).await?;
    output.print(&json_of(&name, &report), || print_report(&name, &report));
    Ok(())
}

pub(super) async fn refresh(
    library: &DocumentLibrary,
    host: &Composition,
    names: Vec<String>,
    output: OutputFormat,
) -> CommandResult {
    let mut repository_names = Vec::new();
    for name in &names {
        repository_names.push(find_repository(library, name, false).await?.name);
    }
    if names.is_empty() {
        repository_names =
            library.repositories(false).await?.into_iter().map(|repository| repository.name).collect();
    }
    let mut runs = IndexRuns::new(library, host, GuidePolicy::WhenDue).await;
    let mut reports = Vec::new();
    for name in repository_names {
        let source = source_of(library, &name).await?;
        let report = runs.run(source).await?;
        reports.push(json_of(&name, &report));
        if !output.json {
            print_report(&name, &report);
        }
    }
    output.print(&reports, || {});
    Ok(())
}

pub(super) async fn guide(
    library: &DocumentLibrary,
    host: &Composition,
    name: &str,
    renew: bool,
) -> CommandResult {
    let mut repository = find_repository(library, name, true).await?;
    if renew {
        let source = source_of(library, &repository.name).await?;
        IndexRuns::new(library, host, GuidePolicy::Always).await.run(source).await?;
        repository = find_repository(library, &repository.name, true).await?;
    }
    match &repository.navigation_guide {
        Some(guide) => out::line(guide.trim_end()),
        None => out::note("No guide yet; --renew writes one."),
    }
    Ok(())
}

async fn source_of(library: &DocumentLibrary, name: &str) -> CommandResult<IndexSource> {
    let state = library.state(name).await?;
    let read = state.and_then(|state| Some((state.root?, state.repository.url)));
    let (root, url) =
        read.ok_or_else(|| CommandError::failed(format!("'{name}' has no directory to read again")))?;
    Ok(IndexSource { root: root.into(), name: name.to_owned(), url })
}

/// Checks a name, which is used as a tool argument and in `repository/path`.
fn check_name(name: &str) -> CommandResult {
    let fine = !name.is_empty()
        && name.chars().count() <= 100
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' '))
        && name.starts_with(char::is_alphanumeric);
    if fine {
        return Ok(());
    }
    let quoted_name = gatehouse_core::names::quoted(name, 100);
    Err(CommandError::usage(format!(
        "'{quoted_name}' cannot be the name of a repository: it has at most 100 letters, digits, -, _, . and spaces, and \
         begins with a letter or a digit; give one with --name"
    )))
}

/// Runs that share their converters.
struct IndexRuns<'a> {
    library: &'a DocumentLibrary,
    host: &'a Composition,
    options: Options,
    has_converters: bool,
}

impl<'a> IndexRuns<'a> {
    /// Shows notes about gates that could convert documents and do not.
    async fn new(library: &'a DocumentLibrary, host: &'a Composition, guide: GuidePolicy) -> Self {
        host.converter_notes().await.iter().for_each(out::note);
        let options = Options { guide, llm: Some(Arc::clone(&host.models.llm)), converters: Vec::new() };
        Self { library, host, options, has_converters: false }
    }

    /// Indexes a source and shows progress. An interrupt ends the run after the current batch.
    async fn run(&mut self, source: IndexSource) -> CommandResult<IndexRunReport> {
        let name = source.name.replace(['{', '}'], "");
        let bar =
            progress::bar(0, &format!("indexing {name} [{{bar:30}}] {{pos}}/{{len}} files {{elapsed}}"));
        let on_progress = |IndexProgress { done, total }| {
            bar.set_length(total as u64);
            bar.set_position(done as u64);
        };
        let library = self.library;
        let cancel = CancellationToken::new();
        let indexing = async {
            let scan = FolderScan::new(source, &cancel).await?;
            let options = cancel.run_until_cancelled(self.options_for(&scan)).await;
            let options = options.unwrap_or_else(|| Ok(Options::default()))?;
            let report = index(library, scan, options, &on_progress, cancel.clone()).await?;
            Ok::<_, CommandError>(report)
        };
        tokio::pin!(indexing);
        let report = tokio::select! {
            report = &mut indexing => report,
            Ok(()) = tokio::signal::ctrl_c() => {
                cancel.cancel();
                indexing.await
            }
        };
        bar.finish_and_clear();
        let report = report?;
        if report.cancelled {
            bail!("interrupted; stored documents stay, and the next run continues there");
        }
        if !progress::wait_for_vectors(library.wait_for_vectors(MAX_VECTOR_WAIT)).await {
            out::note("Some parts have no vector yet; `gatehouse status` shows how many.");
        }
        Ok(report)
    }

    /// Returns the options with converters, which are loaded before their first use: compiling the shipped one takes
    /// seconds, and a directory of text does not need it.
    async fn options_for(&mut self, scan: &FolderScan) -> CommandResult<Options> {
        if !self.has_converters && (scan.needs_converter() || !self.host.has_only_shipped_converter()) {
            self.options.converters = self.host.document_converters().await?;
            self.has_converters = true;
        }
        Ok(self.options.clone())
    }
}

fn json_of(repository: &str, report: &IndexRunReport) -> Value {
    let files =
        |files: &FileNotes| json!({"count": files.total(), "reasons": files.counts, "files": files.named});
    json!({
        "repository": repository,
        "report": {
            "added": report.added, "updated": report.updated, "unchanged": report.unchanged,
            "removed": report.removed, "bytes": report.bytes, "tokens": report.tokens,
            "skipped": files(&report.skipped), "noted": files(&report.noted),
        },
        "guide": if report.guide == GuideOutcome::Unchanged { "kept" } else { "written" },
    })
}

fn print_report(name: &str, report: &IndexRunReport) {
    let IndexRunReport { added, updated, unchanged, removed, skipped, noted, .. } = report;
    let guide = match &report.guide {
        GuideOutcome::Unchanged => "",
        GuideOutcome::Written { .. } => "; guide written",
    };
    let count = skipped.total();
    out::line(format!(
        "{name}: {added} added, {updated} updated, {unchanged} unchanged, {removed} removed; {count} left out{guide}"
    ));
    for (path, reason) in skipped.named.iter().take(MAX_NAMED_FILES) {
        out::line(format!("left out: {path}: {reason}"));
    }
    if count > MAX_NAMED_FILES {
        print_counts("left out, by reason:", skipped);
    }
    print_counts("read with remarks:", noted);
    if let GuideOutcome::Written { by } = &report.guide {
        out::note(format!("The guide: {by}"));
    }
}

/// Prints the number of files with each remark, the most frequent first.
fn print_counts(title: &str, files: &FileNotes) {
    let mut counts: Vec<(&String, usize)> =
        files.counts.iter().map(|(reason, count)| (reason, *count)).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    if counts.is_empty() {
        return;
    }
    out::line(title);
    for (reason, count) in counts.iter().take(MAX_NAMED_FILES) {
        out::line(format!("  {count} {}: {reason}", if *count == 1 { "file" } else { "files" }));
    }
    if counts.len() > MAX_NAMED_FILES {
        out::line("  other files have other reasons; --json names them");
    }
}
