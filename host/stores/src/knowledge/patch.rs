//! Edits one page: the stored page and its wiki file, both or neither.
//!
//! A file outside the allowed directories is not edited, only the stored page. A file that differs from its indexed
//! version is never overwritten.

use std::path::{Path, PathBuf};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::knowledge::{PageChanges, PatchReport},
};

use super::{WikiKnowledge, WriteMode};
use crate::{
    engine::{PageHead, PageScope},
    nearest::nearest,
    wiki::{
        WikiRoots,
        edges::UnknownEdges,
        edit,
        file::{FileEdit, MAX_FILE_BYTES, ReadError, changed_meanwhile, read_text},
        folder, ids,
        record::{PageOrigin, PageRecord, file_hash},
        validate,
    },
    worker::run_blocking,
};

struct PreparedEdit {
    after: PageRecord,
    file: Option<FileEdit>,
    changed: Vec<&'static str>,
    /// Unknown edges of the page, if it was parsed again.
    unknown: Vec<String>,
}

impl WikiKnowledge {
    pub(super) async fn patch_page(
        &self,
        id: &str,
        changes: &PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
        mode: WriteMode,
    ) -> Result<PatchReport, Fault> {
        let (page_type, name) = ids::split_strict(id)?;
        let id = ids::join(page_type, name);
        let changes = validate::changes(changes)?;
        let mut stored = self.engine.record(&id).await?;
        if let Some(page) = &stored
            && self.complete_edit(&PageHead::from_record(page)).await
        {
            stored = self.engine.record(&id).await?;
        }
        let Some(before) = stored else {
            let suggestions = nearest(&id, &self.engine.heads(&PageScope::All).await?);
            return Err(Fault::not_found(format!("Page not found: '{id}'")).hint(
                match suggestions.as_slice() {
                    [] => "Nothing is indexed yet. Index a wiki directory with kg_index.".to_owned(),
                    _ => format!("Nearest titles: {}.", suggestions.join(", ")),
                },
            ));
        };
        let date = stamp.then(|| self.now());
        let (roots, old) = (self.roots.clone(), before.clone());
        let prepared =
            run_blocking(move || prepare(&roots, wiki_dir.as_deref(), &old, &changes, date)).await?;
        let PreparedEdit { after, file, changed, unknown } = prepared;
        let mut unknown_edges = UnknownEdges::default();
        unknown_edges.note(&after.id, &unknown);
        let mut report = PatchReport {
            id: after.id.clone(),
            changed: changed.iter().map(|field| (*field).to_owned()).collect(),
            file: file.as_ref().and(after.origin.as_ref()).map(path_of),
            kept_file: unchanged_file(&before, &after, file.is_some()),
            last_updated: after.last_updated.clone(),
            unresolved_links: Vec::new(),
            unknown_edges: unknown_edges.into_list(),
        };
        // Store even an unchanged page, which finds unresolved links and notices a removed page.
        report.unresolved_links = match mode {
            WriteMode::Apply => self.replace(before, after, file).await?,
            WriteMode::Preview => self.preview_put(std::slice::from_ref(&after)).await?,
        };
        Ok(report)
    }
}

/// Returns the page's file if the page changed and its file did not.
fn unchanged_file(before: &PageRecord, after: &PageRecord, rewritten: bool) -> Option<String> {
    let origin = before.origin.as_ref().filter(|_| !rewritten && before != after)?;
    Some(path_of(origin))
}

pub(super) fn path_of(origin: &PageOrigin) -> String {
    Path::new(&origin.root).join(&origin.file).display().to_string()
}

fn prepare(
    roots: &WikiRoots,
    wiki_dir: Option<&Path>,
    page: &PageRecord,
    changes: &PageChanges,
    date: Option<String>,
) -> Result<PreparedEdit, Fault> {
    match editable_file(roots, wiki_dir, page)? {
        Some((origin, path)) => prepare_file_edit(origin, &path, page, changes, date.as_deref()),
        None => Ok(prepare_store_edit(page, changes, date)),
    }
}

/// Returns the canonical path of a page's file if it may be edited.
fn editable_file<'a>(
    roots: &WikiRoots,
    wiki_dir: Option<&Path>,
    page: &'a PageRecord,
) -> Result<Option<(&'a PageOrigin, PathBuf)>, Fault> {
    let requested_dir = wiki_dir.map(|dir| roots.resolve(dir)).transpose()?;
    let Some(origin) = &page.origin else {
        return match requested_dir {
            None => Ok(None),
            Some(dir) => Err(wrong_folder(page, "does not come from a file", &dir)),
        };
    };
    if let Some(dir) = &requested_dir
        && dir.as_path() != Path::new(&origin.root)
    {
        return Err(wrong_folder(page, &format!("was indexed from '{}'", origin.root), dir));
    }
    let path = Path::new(&origin.root).join(&origin.file);
    match roots.resolve(&path) {
        Ok(real) => Ok(Some((origin, real))),
        Err(fault) if fault.kind == FaultKind::Denied && requested_dir.is_none() => Ok(None),
        Err(fault) if fault.kind == FaultKind::NotFound => Err(changed_meanwhile(&path)),
        Err(fault) => Err(fault),
    }
}

fn wrong_folder(page: &PageRecord, from: &str, asked: &Path) -> Fault {
    Fault::invalid(format!("page '{}' {from}; wiki_dir is '{}'", page.id, asked.display()))
        .hint("Omit wiki_dir, or index that directory with kg_index first.")
}

fn prepare_file_edit(
    origin: &PageOrigin,
    path: &Path,
    page: &PageRecord,
    changes: &PageChanges,
    date: Option<&str>,
) -> Result<PreparedEdit, Fault> {
    let root = Path::new(&origin.root);
    let text = read_text(root, path).map_err(|unread| match unread {
        ReadError::Outside => {
            Fault::denied(format!("'{}' is a link to a file outside its wiki directory", path.display()))
                .hint("Replace the link with the file itself.")
        }
        ReadError::Invalid(reason) => Fault::invalid(format!("wiki file '{}': {reason}", path.display()))
            .hint("Fix the file, index its directory again with kg_index, then repeat the edit."),
    })?;
    let file = folder::page_file(&origin.file).filter(|_| file_hash(text.as_bytes()) == page.hash);
    let file = file.ok_or_else(|| changed_meanwhile(path))?;
    let edited = edit::apply(&text, changes, date)?;
    if edited.changed.is_empty() {
        return Ok(PreparedEdit {
            after: page.clone(),
            file: None,
            changed: edited.changed,
            unknown: Vec::new(),
        });
    }
    if edited.text.len() as u64 > MAX_FILE_BYTES {
        return Err(Fault::invalid(format!(
            "page '{}' would exceed the maximum size of a wiki file",
            page.id
        ))
        .hint("Split the page and link its parts with 'related'."));
    }
    let (after, unknown) = PageRecord::from_file(&origin.root, &file, &edited.text);
    let (path, before, after_text) = (path.to_owned(), text.into_bytes(), edited.text.into_bytes());
    let file = FileEdit::new(path, before, after_text);
    Ok(PreparedEdit { after, file: Some(file), changed: edited.changed, unknown })
}

/// Edits a page without a file. New content is parsed like a file.
fn prepare_store_edit(page: &PageRecord, changes: &PageChanges, date: Option<String>) -> PreparedEdit {
    let before = page.parsed();
    let new_content = changes.content.as_ref().filter(|content| **content != page.content);
    let new_page = new_content.map(|content| page.with_content(content));
    let unknown = new_page.as_ref().map(|new_page| new_page.unknown_edges.clone()).unwrap_or_default();
    let content = new_page.as_ref().map_or_else(|| page.content.clone(), |new_page| new_page.content.clone());
    let target = edit::EditTarget::new(changes, &before, new_page);
    let mut after = page.clone();
    let mut changed = Vec::new();
    fn set<T: PartialEq>(field: &mut T, new: T, name: &'static str, changed: &mut Vec<&'static str>) {
        if *field != new {
            *field = new;
            changed.push(name);
        }
    }
    set(&mut after.overview, target.overview, "overview", &mut changed);
    set(&mut after.content, content, "content", &mut changed);
    set(&mut after.domains, target.domains, "domains", &mut changed);
    set(&mut after.sources, target.sources, "sources", &mut changed);
    set(&mut after.links, target.links, "links", &mut changed);
    if changed.is_empty() {
        return PreparedEdit { after, file: None, changed, unknown };
    }
    after.last_updated = date.or(target.last_updated);
    // A hash of fields never equals one of a file, so the next indexing notices the difference.
    PreparedEdit { after: after.with_field_hash(), file: None, changed, unknown }
}
