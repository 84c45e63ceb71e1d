//! Indexing: reads a wiki directory, stores it in one transaction, then writes the requested index file.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexOptions, IndexReport, OnPageProgress},
    utc_time,
};
use tokio::sync::mpsc;

use super::{
    WikiKnowledge, WriteMode,
    plan::{ClearMode, pages_would_be_lost},
    store::PagesToStore,
};
use crate::{
    engine::PageScope,
    wiki::{
        IndexFile, WikiRoots,
        folder::{self, WikiFolder},
        index_file,
        record::{PageOrigin, is_store_only},
    },
    worker::{finish, run_blocking},
};

impl WikiKnowledge {
    pub(super) async fn index_folder(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
        mode: WriteMode,
    ) -> Result<IndexReport, Fault> {
        let root = root.or_else(|| self.default_root.clone()).ok_or_else(|| {
            Fault::invalid("no wiki directory given and no default set")
                .hint("Pass wiki_dir, or set KG_INDEX_PATH.")
        })?;
        let persist = options.persist_path;
        let (root, save_to, mut folder) = read(self.roots.clone(), root, persist, progress).await?;
        let clear = match (options.clear_existing, options.accept_loss) {
            (false, _) => ClearMode::No,
            (true, true) => ClearMode::All,
            (true, false) => {
                self.check_no_files_vanished(&root).await?;
                ClearMode::Filed
            }
        };
        let (skipped, unknown_edges) =
            (std::mem::take(&mut folder.skipped), std::mem::take(&mut folder.unknown_edges));
        let (pages, root_name) = (folder.records.len() as u64, folder.root.clone());
        let pages_of_folder = PagesToStore::Folder(Mutex::new(folder));
        let report = match mode {
            WriteMode::Apply => self.store(pages_of_folder, clear).await?,
            WriteMode::Preview => self.preview_store(&pages_of_folder, clear).await?,
        };
        if let Some(path) = save_to.filter(|_| mode == WriteMode::Apply) {
            let created_at = utc_time::rfc3339(self.clock.now_ms());
            let file = IndexFile::new(created_at, root_name, self.engine.name(), self.engine.refs(), pages);
            run_blocking(move || file.write(&path)).await?;
        }
        Ok(IndexReport { skipped, unknown_edges: unknown_edges.into_list(), ..report })
    }

    /// Refuses if pages from other directories have lost their files. Also names pages that never had a file, which the
    /// engine checks again in its transaction.
    async fn check_no_files_vanished(&self, indexed: &Path) -> Result<(), Fault> {
        let heads = self.engine.heads(&PageScope::All).await?;
        let indexed = indexed.to_owned();
        let vanished = run_blocking(move || {
            let is_gone = |origin: &PageOrigin| {
                !Path::new(&origin.root).join(&origin.file).try_exists().unwrap_or(false)
            };
            let lost = heads.into_iter().filter(|page| match &page.origin {
                Some(origin) if Path::new(&origin.root) == indexed => false,
                Some(origin) => is_store_only(&page.hash) || is_gone(origin),
                None => true,
            });
            Ok(lost.map(|page| page.id).collect::<Vec<_>>())
        });
        let vanished = vanished.await?;
        let vanished: Vec<&str> = vanished.iter().map(String::as_str).collect();
        if vanished.is_empty() { Ok(()) } else { Err(pages_would_be_lost(&vanished)) }
    }
}

/// Checks the paths, and reads the directory on a blocking thread that reports progress.
async fn read(
    roots: WikiRoots,
    root: PathBuf,
    persist: Option<PathBuf>,
    progress: OnPageProgress<'_>,
) -> Result<(PathBuf, Option<PathBuf>, WikiFolder), Fault> {
    let (steps, mut heard) = mpsc::unbounded_channel();
    let work = move || {
        let root = roots.resolve(&root)?;
        let save_to = persist.as_deref().map(|path| writable(&roots, path)).transpose()?;
        let mut step = |done, total| {
            // A canceled call receives no progress, but the directory is still read to the end.
            let _ = steps.send((done, total));
        };
        let folder = folder::read(&root, &mut step)?;
        Ok((root, save_to, folder))
    };
    let reading = tokio::task::spawn_blocking(work);
    while let Some((done, total)) = heard.recv().await {
        progress(done, total);
    }
    finish(reading).await
}

/// Returns the path for a new index file. Checked before anything is indexed.
fn writable(roots: &WikiRoots, path: &Path) -> Result<PathBuf, Fault> {
    let path = roots.resolve_new(path)?;
    index_file::may_overwrite(&path)?;
    Ok(path)
}
