//! Watching the sources of a project. What is built, installed or written by an editor for itself is no
//! source: a build that started itself would never end.

use std::{
    collections::BTreeSet,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher, event::ModifyKind};
use tokio::{sync::mpsc, time};

/// An editor writes a file in several steps; the last one is waited for.
const QUIET: Duration = Duration::from_millis(50);

/// Folders and files that no build reads, or that builds write.
const NO_SOURCES: [&str; 6] =
    ["target", "build", "node_modules", "__pycache__", "Cargo.lock", "package-lock.json"];

/// A project that is watched.
pub(crate) struct Watch {
    folder: PathBuf,
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    events: mpsc::UnboundedReceiver<PathBuf>,
}

impl Watch {
    /// From now on nothing that is saved in the folder is missed.
    pub(crate) fn start(folder: &Path) -> Result<Self, String> {
        let (sender, events) = mpsc::unbounded_channel();
        let root = folder.to_owned();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let paths = event.ok().filter(is_change).map(|event| event.paths).unwrap_or_default();
            for path in paths.into_iter().filter(|path| is_source(&root, path)) {
                // Nobody listens any more when the command ends.
                let _ended = sender.send(path);
            }
        });
        let watcher = watcher.map_err(|error| format!("the file system cannot be watched: {error}"))?;
        let mut watch = Self { folder: folder.to_owned(), watcher, watched: BTreeSet::new(), events };
        watch.add_folders(folder.to_owned())?;
        Ok(watch)
    }

    /// Waits until something was saved and nothing is being saved any more; gives what it was, by paths
    /// in the project.
    pub(crate) async fn changed(&mut self) -> Result<Vec<String>, String> {
        let ended = || "the file system is not watched any more".to_owned();
        let mut saved = BTreeSet::from([self.events.recv().await.ok_or_else(ended)?]);
        while let Ok(more) = time::timeout(QUIET, self.events.recv()).await {
            saved.insert(more.ok_or_else(ended)?);
        }
        self.watched.retain(|folder| folder.exists());
        self.add_folders(self.folder.clone())?;
        // Files that editors make and remove on the way are named only where there is nothing else to name.
        let (there, gone): (Vec<PathBuf>, Vec<PathBuf>) = saved.into_iter().partition(|path| path.exists());
        let name = |path: &PathBuf| path.strip_prefix(&self.folder).unwrap_or(path).display().to_string();
        Ok(if there.is_empty() { gone } else { there }.iter().map(name).collect())
    }

    /// Each folder by itself: a watch of the whole tree would take in what is installed and built there.
    fn add_folders(&mut self, folder: PathBuf) -> Result<(), String> {
        if self.watched.insert(folder.clone()) {
            let added = self.watcher.watch(&folder, RecursiveMode::NonRecursive);
            added.map_err(|error| format!("{}: cannot be watched: {error}", folder.display()))?;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()) {
            if is_source(&self.folder, &path) {
                self.add_folders(path)?;
            }
        }
        Ok(())
    }
}

/// Whether it may have changed what a file says, or which files there are.
fn is_change(event: &Event) -> bool {
    match event.kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        EventKind::Any | EventKind::Other | EventKind::Access(_) => false,
    }
}

fn is_source(root: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(root) else { return false };
    let mut names = inside.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let no_source = |name: &str| {
        name.starts_with('.') || name.ends_with('~') || name.ends_with(".wasm") || NO_SOURCES.contains(&name)
    };
    inside.components().next().is_some() && !names.any(|name| no_source(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_no_source() {
        let root = Path::new("/p");
        for source in ["gate.py", "src/lib.rs", "wit/world.wit", "presets.toml"] {
            assert!(is_source(root, &root.join(source)), "{source}");
        }
        for other in [
            "weather.wasm",
            "target/x",
            ".venv/y",
            "node_modules/z/a.js",
            ".gate.py.swp",
            "gate.py~",
            "Cargo.lock",
            "",
        ] {
            assert!(!is_source(root, &root.join(other)), "{other}");
        }
        assert!(!is_source(root, Path::new("/q/gate.py")));
    }

    #[tokio::test]
    async fn a_save_in_a_new_folder_is_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let mut watch = Watch::start(&root).expect("watched");
        std::fs::create_dir(root.join("src")).expect("made");
        assert_eq!(watch.changed().await.expect("seen"), ["src"]);
        std::fs::write(root.join("src/lib.rs"), "1").expect("written");
        std::fs::write(root.join("out.wasm"), "1").expect("written");
        assert_eq!(watch.changed().await.expect("seen"), ["src/lib.rs"]);
    }
}
