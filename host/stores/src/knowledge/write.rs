//! Stores pages from callers. A page with an editable file changes together with the file, and a new page gets a file
//! if the default wiki is clear. Every other page exists only in the store.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{IndexReport, PageChanges, PageDraft, PageLocation, PageType},
};

use super::{WikiKnowledge, WriteMode, patch::path_of, plan::ClearMode, store::PagesToStore};
use crate::{
    wiki::{
        WikiRoots,
        edges::UnknownEdges,
        edit,
        file::{check_new, create, file_exists},
        folder::{self, PageFile},
        record::{PageRecord, draft_id},
        validate,
    },
    worker::run_blocking,
};

const MAX_FILE_NAME_BYTES: usize = 240;

struct NewFile {
    record: PageRecord,
    path: PathBuf,
    unknown: Vec<String>,
}

impl WikiKnowledge {
    pub(super) async fn write_pages(
        &self,
        drafts: Vec<PageDraft>,
        mode: WriteMode,
    ) -> Result<IndexReport, Fault> {
        let drafts = drafts.into_iter().map(validate::draft).collect::<Result<Vec<_>, _>>()?;
        // Each page with a file is edited in its own transaction; the others are stored together.
        let (mut edited, mut fresh, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for draft in drafts {
            match self.engine.record(&draft_id(&draft)).await? {
                Some(page) if page.origin.is_some() && self.may_edit_file(&page).await? => edited.push(draft),
                Some(_) => rest.push(draft),
                None => fresh.push(draft),
            }
        }
        let (roots, default, now) = (self.roots.clone(), self.default_root.clone(), self.now());
        let date = now.clone();
        let creation = run_blocking(move || {
            let Some(wiki) = default_wiki(&roots, default) else { return Ok((Vec::new(), fresh)) };
            make_files(&roots, &wiki, fresh, &date, mode)
        });
        let (new_files, remaining_drafts) = creation.await?;
        let (mut report, mut unknown_edges) = (IndexReport::default(), UnknownEdges::default());
        let mut records = Vec::new();
        for page in &new_files {
            unknown_edges.note(&page.record.id, &page.unknown);
            report.written.push(PageLocation {
                page: page.record.id.clone(),
                file: Some(page.path.display().to_string()),
            });
            records.push(page.record.clone());
        }
        for draft in remaining_drafts.into_iter().chain(rest) {
            let (record, unknown) = PageRecord::from_draft(draft, now.clone());
            unknown_edges.note(&record.id, &unknown);
            report.written.push(PageLocation { page: record.id.clone(), file: None });
            records.push(record);
        }
        if !records.is_empty() {
            let pages = PagesToStore::Given(records);
            let stored = match mode {
                WriteMode::Apply => self.store(pages, ClearMode::No).await,
                WriteMode::Preview => self.preview_store(&pages, ClearMode::No).await,
            };
            let stored = match stored {
                Ok(stored) => stored,
                Err(fault) if mode == WriteMode::Preview => return Err(fault),
                Err(fault) => {
                    run_blocking(move || remove(new_files)).await?;
                    return Err(fault);
                }
            };
            report = IndexReport { written: report.written, ..stored };
        }
        for draft in edited {
            self.edit_page(draft, &mut report, mode).await?;
        }
        let mut edges = unknown_edges.into_list();
        edges.append(&mut report.unknown_edges);
        edges.sort();
        Ok(IndexReport { unknown_edges: edges, ..report })
    }

    async fn may_edit_file(&self, page: &PageRecord) -> Result<bool, Fault> {
        let (roots, page) = (self.roots.clone(), page.clone());
        run_blocking(move || {
            let Some(origin) = &page.origin else { return Ok(false) };
            Ok(roots.resolve(&Path::new(&origin.root).join(&origin.file)).is_ok())
        })
        .await
    }

    async fn edit_page(
        &self,
        draft: PageDraft,
        report: &mut IndexReport,
        mode: WriteMode,
    ) -> Result<(), Fault> {
        let id = draft_id(&draft);
        report.links += u32::try_from(draft.links.len()).unwrap_or(u32::MAX);
        let done = self.patch_page(&id, &changes(draft), None, true, mode).await?;
        if done.changed.is_empty() {
            report.unchanged += 1;
        } else {
            report.updated += 1;
        }
        report.unresolved_links.extend(done.unresolved_links);
        report.unknown_edges.extend(done.unknown_edges);
        let stored = self.engine.record(&done.id).await?.and_then(|page| page.origin);
        report.written.push(PageLocation { page: done.id, file: stored.as_ref().map(path_of) });
        Ok(())
    }
}

/// Converts a draft to changes. Empty lists and texts change nothing.
fn changes(draft: PageDraft) -> PageChanges {
    fn unless_empty<T>(list: Vec<T>) -> Option<Vec<T>> {
        Some(list).filter(|list| !list.is_empty())
    }
    PageChanges {
        overview: Some(draft.overview).filter(|text| !text.is_empty()),
        content: Some(draft.content),
        domains: unless_empty(draft.domains),
        sources: unless_empty(draft.sources),
        links: unless_empty(draft.links),
    }
}

/// Returns the wiki for new files: the default one, or else the only allowed directory. `None` if it has no directory
/// for a page type.
fn default_wiki(roots: &WikiRoots, default: Option<PathBuf>) -> Option<PathBuf> {
    let only = match roots {
        WikiRoots::Only(roots) if roots.len() == 1 => roots.first().cloned(),
        _ => None,
    };
    let wiki = default.or(only)?.canonicalize().ok()?;
    PageType::ALL.into_iter().any(|kind| wiki.join(kind.folder()).is_dir()).then_some(wiki)
}

/// Creates a file for each page that can have one, all or none, unless this is a preview. Returns the other drafts too.
fn make_files(
    roots: &WikiRoots,
    wiki: &Path,
    drafts: Vec<PageDraft>,
    date: &str,
    mode: WriteMode,
) -> Result<(Vec<NewFile>, Vec<PageDraft>), Fault> {
    let root = folder::root_name(wiki)?;
    let (mut new_files, mut remaining_drafts) = (Vec::<NewFile>::new(), Vec::new());
    for draft in drafts {
        let Some(file) = file_of(&draft) else {
            remaining_drafts.push(draft);
            continue;
        };
        let path = wiki.join(&file.relative);
        let skeleton = format!("# {}: {}\n", draft.page_type, draft.title);
        let done = edit::apply(&skeleton, &changes(draft), Some(date)).and_then(|edited| {
            match mode {
                WriteMode::Apply => create(roots, &path, edited.text.as_bytes())?,
                WriteMode::Preview if new_files.iter().any(|page| page.path == path) => {
                    return Err(file_exists(&path));
                }
                WriteMode::Preview => check_new(roots, &path)?,
            }
            Ok(edited.text)
        });
        match done {
            Ok(text) => {
                let (record, unknown) = PageRecord::from_file(&root, &file, &text);
                new_files.push(NewFile { record, path, unknown });
            }
            Err(fault) => {
                if mode == WriteMode::Apply {
                    remove(new_files)?;
                }
                return Err(fault);
            }
        }
    }
    Ok((new_files, remaining_drafts))
}

/// Returns the file for a new page. `None` if its title is not usable as a file name.
fn file_of(draft: &PageDraft) -> Option<PageFile> {
    let stem = draft.title.replace(' ', "_");
    let file = folder::page_file(&format!("{}/{stem}.md", draft.page_type.folder()))?;
    (stem.len() <= MAX_FILE_NAME_BYTES).then_some(file)
}

/// Removes files that were created for pages that could not be stored.
fn remove(made: Vec<NewFile>) -> Result<(), Fault> {
    for page in made {
        if let Err(error) = fs::remove_file(&page.path) {
            tracing::error!(file = %page.path.display(), %error, "cannot remove the file of a page that was not \
            stored");
        }
    }
    Ok(())
}
