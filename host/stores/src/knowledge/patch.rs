//! Changing one page: the stored page and the wiki file it came from, both or neither.
//!
//! The file is changed where the page came from one inside a folder that may be touched; a page from
//! elsewhere, or from a caller, is changed in the store alone. A file that is no longer what was indexed
//! is never overwritten.

use std::path::{Path, PathBuf};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::knowledge::{Changes, PatchReport},
};

use super::{WikiKnowledge, index::blocking};
use crate::{
    engine::Replacement,
    wiki::{
        WikiRoots, edit,
        file::{FileSwap, changed_meanwhile},
        folder::{self, Unread},
        ids,
        nearest::nearest,
        record::{Origin, Record, file_hash},
        validate,
    },
};

/// An edit that is ready to be stored.
struct Prepared {
    after: Record,
    file: Option<FileSwap>,
    changed: Vec<&'static str>,
}

impl WikiKnowledge {
    pub(super) async fn patch_page(
        &self,
        id: &str,
        changes: &Changes,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        let (page_type, name) = ids::split_strict(id)?;
        let id = ids::join(page_type, name);
        let changes = validate::changes(changes)?;
        let Some(before) = self.engine.record(&id).await? else {
            let near = nearest(&id, &self.engine.titles().await?);
            return Err(Fault::not_found(format!("Page not found: '{id}'")).hint(match near.as_slice() {
                [] => "Nothing is indexed yet: kg_index reads a wiki folder.".to_owned(),
                _ => format!("Nearest titles: {}.", near.join(", ")),
            }));
        };
        let date = stamp.then(|| self.now());
        let (roots, old) = (self.roots.clone(), before.clone());
        let prepared = blocking(move || prepare(&roots, wiki_dir.as_deref(), &old, &changes, date)).await?;
        let Prepared { after, file, changed } = prepared;
        let mut report = PatchReport {
            id: after.id.clone(),
            changed: changed.iter().map(|field| (*field).to_owned()).collect(),
            file: file.as_ref().and(after.origin.as_ref()).map(|origin| origin.file.clone()),
            kept_file: kept_file(&before, &after, file.is_some()),
            last_updated: after.last_updated.clone(),
            unresolved_links: Vec::new(),
            unknown_edges: Vec::new(),
        };
        // Nothing to change is stored all the same: it finds the links that point nowhere, and a page that
        // was removed meanwhile.
        report.unresolved_links = self.engine.replace(Replacement { before, after, file }).await?;
        Ok(report)
    }
}

/// The page's file, where the page changed and its file did not.
fn kept_file(before: &Record, after: &Record, rewritten: bool) -> Option<String> {
    let origin = before.origin.as_ref().filter(|_| !rewritten && before != after)?;
    Some(Path::new(&origin.root).join(&origin.file).display().to_string())
}

fn prepare(
    roots: &WikiRoots,
    wiki_dir: Option<&Path>,
    page: &Record,
    changes: &Changes,
    date: Option<String>,
) -> Result<Prepared, Fault> {
    match touchable(roots, wiki_dir, page)? {
        Some((origin, path)) => in_file(origin, &path, page, changes, date.as_deref()),
        None => Ok(in_store(page, changes, date)),
    }
}

/// The file of a page, canonical, where the page came from one that may be touched.
fn touchable<'a>(
    roots: &WikiRoots,
    wiki_dir: Option<&Path>,
    page: &'a Record,
) -> Result<Option<(&'a Origin, PathBuf)>, Fault> {
    let asked = wiki_dir.map(|dir| roots.resolve(dir)).transpose()?;
    let Some(origin) = &page.origin else {
        return match asked {
            None => Ok(None),
            Some(dir) => Err(elsewhere(page, "does not come from a file", &dir)),
        };
    };
    if let Some(dir) = &asked
        && dir.as_path() != Path::new(&origin.root)
    {
        return Err(elsewhere(page, &format!("was indexed from '{}'", origin.root), dir));
    }
    let path = Path::new(&origin.root).join(&origin.file);
    match roots.resolve(&path) {
        Ok(real) => Ok(Some((origin, real))),
        Err(fault) if fault.kind == FaultKind::Denied && asked.is_none() => Ok(None),
        Err(fault) if fault.kind == FaultKind::NotFound => Err(changed_meanwhile(&path)),
        Err(fault) => Err(fault),
    }
}

fn elsewhere(page: &Record, from: &str, asked: &Path) -> Fault {
    Fault::invalid(format!("page '{}' {from}, not in '{}'", page.id, asked.display()))
        .hint("Leave wiki_dir out, or index that folder first with kg_index.")
}

fn in_file(
    origin: &Origin,
    path: &Path,
    page: &Record,
    changes: &Changes,
    date: Option<&str>,
) -> Result<Prepared, Fault> {
    let root = Path::new(&origin.root);
    let text = folder::read_text(root, path).map_err(|unread| match unread {
        Unread::Outside => Fault::denied(format!("'{}' leads out of its wiki folder", path.display()))
            .hint("Replace the link by the file itself."),
        Unread::Because(reason) => Fault::invalid(format!("wiki file '{}' {reason}", path.display()))
            .hint("Mend the file, index its folder again with kg_index, then repeat the edit."),
    })?;
    let file = folder::page_file(&origin.file).filter(|_| file_hash(text.as_bytes()) == page.hash);
    let file = file.ok_or_else(|| changed_meanwhile(path))?;
    let edited = edit::apply(&text, changes, date)?;
    if edited.changed.is_empty() {
        return Ok(Prepared { after: page.clone(), file: None, changed: edited.changed });
    }
    if edited.text.len() as u64 > folder::MAX_FILE_BYTES {
        return Err(Fault::invalid(format!("page '{}' would be larger than a wiki file may be", page.id))
            .hint("Split the page and link its parts with 'related'."));
    }
    let after = Record::from_file(&origin.root, &file, &edited.text);
    let swap = FileSwap { path: path.to_owned(), before: text.into_bytes(), after: edited.text.into_bytes() };
    Ok(Prepared { after, file: Some(swap), changed: edited.changed })
}

fn in_store(page: &Record, changes: &Changes, date: Option<String>) -> Prepared {
    fn set<T: PartialEq + Clone>(
        field: &mut T,
        new: &Option<T>,
        name: &'static str,
        changed: &mut Vec<&'static str>,
    ) {
        if let Some(new) = new
            && new != field
        {
            field.clone_from(new);
            changed.push(name);
        }
    }
    let (mut after, mut changed) = (page.clone(), Vec::new());
    set(&mut after.overview, &changes.overview, "overview", &mut changed);
    set(&mut after.content, &changes.content, "content", &mut changed);
    set(&mut after.domains, &changes.domains, "domains", &mut changed);
    set(&mut after.sources, &changes.sources, "sources", &mut changed);
    set(&mut after.links, &changes.links, "links", &mut changed);
    if changed.is_empty() {
        return Prepared { after, file: None, changed };
    }
    after.last_updated = date.or(after.last_updated);
    // A hash of fields is never that of a file: the next indexing sees that page and file differ.
    Prepared { after: after.with_field_hash(), file: None, changed }
}
