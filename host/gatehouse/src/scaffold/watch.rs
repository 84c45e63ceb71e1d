//! Watches the sources of a project for content changes.
//!
//! Excludes build output, dependencies, files of hosts and editors, notes and `presets.toml`, so that a build does not
//! trigger itself.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
use sha2::{Digest, Sha256};
use tokio::{sync::mpsc, time};

use super::PlainError;

/// Wait for the last of several writes that an editor makes for one save.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// Directories and files that builds write or do not read.
const NO_SOURCES: [&str; 7] =
    ["target", "build", "node_modules", "__pycache__", "Cargo.lock", "package-lock.json", "presets.toml"];

/// Directories in which all files are sources, because programs can embed files of any kind.
const SOURCE_FOLDERS: [&str; 2] = ["src", "wit"];

/// Extensions of sources anywhere in a project: programs, and data that programs read.
const SOURCE_KINDS: [&str; 22] = [
    "c", "cc", "cfg", "cjs", "cpp", "csv", "h", "hpp", "html", "js", "json", "jsx", "mjs", "py", "rs", "sql",
    "toml", "ts", "tsv", "wit", "yaml", "yml",
];

type SourceDigest = [u8; 32];

pub(crate) struct ProjectWatcher {
    project: SourceFilter,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    events: mpsc::UnboundedReceiver<()>,
    /// Digests of the sources at the last scan.
    known: BTreeMap<PathBuf, SourceDigest>,
}

/// Rules for source files of a project.
#[derive(Clone)]
struct SourceFilter {
    folder: PathBuf,
    /// Directories that hosts write to.
    excluded: Vec<PathBuf>,
}

impl ProjectWatcher {
    /// Starts to watch a directory. `excluded` are excluded.
    pub(crate) fn start(folder: &Path, excluded: Vec<PathBuf>) -> Result<Self, PlainError> {
        let (sender, events) = mpsc::unbounded_channel();
        // Event paths have links resolved.
        let excluded = excluded.into_iter().map(|path| path.canonicalize().unwrap_or(path)).collect();
        let project = SourceFilter { folder: folder.to_owned(), excluded };
        let filter = project.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let paths = event.ok().filter(is_change).map(|event| event.paths).unwrap_or_default();
            // A created or removed directory may contain sources.
            if paths
                .iter()
                .any(|path| filter.is_source(path) || (filter.may_contain_sources(path) && !path.is_file()))
            {
                // The receiver is gone if the command has ended.
                let _ended = sender.send(());
            }
        });
        let watcher = watcher.map_err(|error| format!("the file system cannot be watched: {error}"))?;
        let mut watch = Self { project, watcher, watched: BTreeSet::new(), events, known: BTreeMap::new() };
        watch.known = watch.scan()?;
        Ok(watch)
    }

    /// Waits until sources change and saving has finished. Returns their paths in the project.
    pub(crate) async fn next_change(&mut self) -> Result<Vec<String>, PlainError> {
        let ended = || PlainError::from("the file watcher stopped");
        loop {
            self.events.recv().await.ok_or_else(ended)?;
            while let Ok(more) = time::timeout(QUIET_PERIOD, self.events.recv()).await {
                more.ok_or_else(ended)?;
            }
            self.watched.retain(|folder| folder.exists());
            let now = self.scan()?;
            let before = std::mem::replace(&mut self.known, now);
            let paths: BTreeSet<&PathBuf> = before.keys().chain(self.known.keys()).collect();
            let changed = paths.into_iter().filter(|path| before.get(*path) != self.known.get(*path));
            let name = |path: &PathBuf| {
                path.strip_prefix(&self.project.folder).unwrap_or(path).display().to_string()
            };
            let names: Vec<String> = changed.map(name).collect();
            if !names.is_empty() {
                return Ok(names);
            }
        }
    }

    /// Reads all sources. Watches each directory separately, because a recursive watch would include dependencies and
    /// build output.
    fn scan(&mut self) -> Result<BTreeMap<PathBuf, SourceDigest>, PlainError> {
        let mut sources = BTreeMap::new();
        let mut folders = vec![self.project.folder.clone()];
        while let Some(folder) = folders.pop() {
            if self.watched.insert(folder.clone()) {
                let added = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
                added.map_err(|error| format!("{}: cannot be watched: {error}", folder.display()))?;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if self.project.may_contain_sources(&path) {
                        folders.push(path);
                    }
                } else if self.project.is_source(&path)
                    && let Ok(bytes) = fs::read(&path)
                {
                    sources.insert(path, Sha256::digest(&bytes).into());
                }
            }
        }
        Ok(sources)
    }
}

/// Returns whether an event may change a file's content or the set of files.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        EventKind::Any | EventKind::Other | EventKind::Access(_) => false,
    }
}

impl SourceFilter {
    /// Returns whether a path, or a path below it, can be a source.
    fn may_contain_sources(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        let no_source = |name: &str| {
            name.starts_with('.')
                || name.ends_with('~')
                || name.ends_with(".wasm")
                || NO_SOURCES.contains(&name)
        };
        let mut names = inside.iter().map(|name| name.to_string_lossy());
        // A directory that contains the whole project does not exclude it.
        let excluded = self.excluded.iter().filter(|other| !self.folder.starts_with(other));
        inside.iter().next().is_some()
            && !names.any(|name| no_source(&name))
            && !excluded.into_iter().any(|other| path.starts_with(other))
    }

    fn is_source(&self, path: &Path) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else { return false };
        let within = |folder: &&str| inside.starts_with(folder) && inside != Path::new(folder);
        let kind = path.extension().map(|kind| kind.to_string_lossy().to_ascii_lowercase());
        let is_source_kind = kind.is_some_and(|kind| SOURCE_KINDS.contains(&kind.as_str()));
        let named = ["Makefile", "requirements.txt"].iter().any(|name| inside == Path::new(name));
        self.may_contain_sources(path) && (is_source_kind || named || SOURCE_FOLDERS.iter().any(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_notes_and_host_files_are_not_sources() {
        let root = Path::new("/p");
        let project = SourceFilter { folder: root.into(), excluded: vec!["/p/state".into(), "/".into()] };
        for source in
            ["gate.py", "src/lib.rs", "src/prompt.txt", "wit/world.wit", "data/places.json", "Makefile"]
        {
            assert!(project.is_source(&root.join(source)), "{source}");
        }
        for other in [
            "weather.wasm",
            "target/x.rs",
            ".venv/y.py",
            "node_modules/z/a.js",
            ".gate.py.swp",
            "gate.py~",
            "Cargo.lock",
            "presets.toml",
            "README.md",
            "notes.txt",
            "state/hosts/1.json",
            "src",
            "",
        ] {
            assert!(!project.is_source(&root.join(other)), "{other}");
        }
        assert!(!project.is_source(Path::new("/q/gate.py")));
    }

    #[tokio::test]
    async fn a_save_is_seen_where_the_content_is_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let save = |path: &str, text: &str| fs::write(root.join(path), text).expect("written");
        save("gate.py", "1");
        let mut watch = ProjectWatcher::start(&root, vec![]).expect("watched");
        fs::create_dir(root.join("src")).expect("made");
        save("src/lib.rs", "1");
        assert_eq!(watch.next_change().await.expect("seen"), ["src/lib.rs"]);
        for path in ["out.wasm", "README.md", "gate.py"] {
            save(path, "1");
        }
        save("src/lib.rs", "2");
        assert_eq!(watch.next_change().await.expect("seen"), ["src/lib.rs"]);
        fs::remove_dir_all(root.join("src")).expect("removed");
        assert_eq!(watch.next_change().await.expect("seen"), ["src/lib.rs"]);
    }
}
