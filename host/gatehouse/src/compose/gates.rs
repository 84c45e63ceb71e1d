//! The gates of a composition: where their files are, and which of them are loaded.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::names;
use gatehouse_sandbox::{FileStamp, Gate, GateSettings, Sandbox};
use tokio::sync::Mutex;

use super::Composition;
use crate::built_in;
use crate::config::{Config, GateConfig, check_gate_name, component, is_gate_name};
use crate::scaffold::GateProject;

/// Gates by name. Once loaded, a gate stays the very version it was, whatever happens to its file.
pub(crate) struct GateRegistry {
    config: Arc<Config>,
    sandbox: Sandbox,
    loaded: Mutex<BTreeMap<String, Arc<Gate>>>,
    /// Gates that were served and whose files are gone.
    withdrawn: BTreeSet<String>,
}

impl GateRegistry {
    pub(super) fn new(config: Arc<Config>, sandbox: Sandbox) -> Self {
        Self { config, sandbox, loaded: Mutex::default(), withdrawn: BTreeSet::new() }
    }

    pub(super) async fn next(
        &self,
        config: Arc<Config>,
        reread: &BTreeSet<String>,
        withdrawn: BTreeSet<String>,
    ) -> Self {
        let mut loaded = BTreeMap::new();
        for (name, gate) in self.loaded().await {
            if reread.contains(&name) || withdrawn.contains(&name) {
                continue;
            }
            let [before, now] = [&self.config, &config].map(|config| config.gates.get(&name));
            if before == now && self.config.gate_folders == config.gate_folders {
                loaded.insert(name, gate);
                continue;
            }
            // What the file says about a gate is in force at once, also where the gate's own file is not
            // what is served. Another file, or another pin, is read below by whoever needs the gate.
            let component = |config: Option<&GateConfig>| config.and_then(|gate| gate.component.clone());
            let same_file =
                component(before) == component(now) && self.config.gate_folders == config.gate_folders;
            if let Ok(gate) = gate.with_settings(block(&config, &name, &gate.info().file).settings)
                && same_file
            {
                loaded.insert(name, Arc::new(gate));
            }
        }
        Self { config, sandbox: self.sandbox.clone(), loaded: Mutex::new(loaded), withdrawn }
    }

    /// Puts a former version of a gate back, under what the configuration says about the gate now. The
    /// error says why that cannot be.
    pub(crate) async fn restore(&self, former: &Gate) -> Result<(), String> {
        let name = &former.info().name;
        if self.file_of(name).is_ok_and(|file| file != former.info().file) {
            return Err("it came from another file than the one that is configured now".into());
        }
        let settings = block(&self.config, name, &former.info().file).settings;
        let gate = former.with_settings(settings).map_err(|error| error.to_string())?;
        self.loaded.lock().await.insert(name.clone(), Arc::new(gate));
        Ok(())
    }

    /// Those that are loaded.
    pub(crate) async fn loaded(&self) -> BTreeMap<String, Arc<Gate>> {
        self.loaded.lock().await.clone()
    }

    /// Whether the gate was served and its file is gone.
    pub(crate) fn is_withdrawn(&self, name: &str) -> bool {
        self.withdrawn.contains(name)
    }

    /// All whose files are gone.
    pub(crate) fn withdrawn(&self) -> &BTreeSet<String> {
        &self.withdrawn
    }

    /// Keeps compiled functions from one build of a gate to the next, for who writes one. Blocking.
    pub(crate) fn keep_functions(&self) {
        self.sandbox.enable_function_cache(&self.config.cache);
    }

    /// What a gate's file is known by.
    pub(crate) fn stamp(&self, file: &Path) -> io::Result<FileStamp> {
        self.sandbox.stamp(file)
    }

    /// Throws away what is kept of compiled gates beyond what the configuration says. Blocking.
    pub(crate) fn sweep(&self) {
        self.sandbox.set_code_cap(self.config.cache_size);
    }

    pub(super) async fn get(&self, name: &str) -> Result<Arc<Gate>, String> {
        let mut loaded = self.loaded.lock().await;
        if let Some(gate) = loaded.get(name) {
            return Ok(Arc::clone(gate));
        }
        let file = self.file_of(name)?;
        let GateConfig { settings, origin, .. } = block(&self.config, name, &file);
        if let Some(origin) = origin.filter(|_| !exists(&file)) {
            return Err(component::not_installed(name, &origin));
        }
        let gate = self.load(name, &file, settings).await;
        let gate = Arc::new(gate.map_err(|error| format!("gate '{name}' cannot be loaded: {error}"))?);
        loaded.insert(name.to_owned(), Arc::clone(&gate));
        Ok(gate)
    }

    /// A gate from any file, with what the configuration grants to the gate of that name.
    pub(crate) async fn load_file(&self, file: &Path) -> Result<Gate, String> {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let settings = block(&self.config, &name, file).settings;
        self.load(&name, file, settings).await
    }

    /// A gate from any file, without grants and whatever the configuration pins.
    pub(super) async fn bare(&self, name: &str, file: &Path) -> Result<Gate, String> {
        self.load(name, file, GateSettings::default()).await
    }

    /// Loads a gate on a thread for blocking work: compiling one takes seconds, and the host can end meanwhile.
    async fn load(&self, name: &str, file: &Path, settings: GateSettings) -> Result<Gate, String> {
        let (sandbox, name, file) = (self.sandbox.clone(), name.to_owned(), file.to_owned());
        let loading = tokio::task::spawn_blocking(move || sandbox.gate(&name, &file, settings));
        loading.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    /// The settings of a gate. `None` if it has no block.
    pub(crate) fn settings(&self, name: &str) -> Option<GateSettings> {
        self.config.gates.get(name)?;
        Some(block(&self.config, name, &self.file_of(name).unwrap_or_default()).settings)
    }

    /// Names of all gates there are.
    pub(crate) fn names(&self) -> Vec<String> {
        Self::names_in(&self.config)
    }

    /// Names of all gates that a configuration has: files in the folders, and those that it names itself.
    pub(crate) fn names_in(config: &Config) -> Vec<String> {
        // Shipped gates that the file does not ask for are listed if they are served.
        let folders = config.gate_folders.iter();
        let folders = folders.filter(|folder| config.gates_named || !built_in::is_folder(folder));
        let dropped = folders.flat_map(|folder| wasm_files(folder));
        let named = config.gates.iter().filter(|(_, gate)| gate.component.is_some());
        let shipped = config.served_gates().into_iter();
        let shipped = shipped.filter(|name| built_in::is_in_config(config) && built_in::is_shipped(name));
        let named = named.map(|(name, _)| name.clone());
        let mut names: Vec<String> = dropped.chain(named).chain(shipped).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Files in the folders that would be gates under another name, each with what is wrong with it.
    pub(crate) fn misnamed(&self) -> Vec<String> {
        let folders = self.config.gate_folders.iter();
        let files = folders.flat_map(|folder| stems(folder).into_iter().map(move |stem| (folder, stem)));
        let why = files.filter_map(|(folder, stem)| Some((folder, check_gate_name(&stem).err()?)));
        why.map(|(folder, why)| format!("a file in {} is left out: {why}", folder.display())).collect()
    }

    /// Blocks of the configuration for gates that there are not, each with its line and the nearest name.
    pub(crate) fn blocks_without_gate(&self) -> Vec<String> {
        let known = self.names();
        let own = self.config.gates.iter().filter(|(_, gate)| !gate.shipped).map(|(name, _)| name);
        let unknown = own.filter(|name| !known.contains(name));
        let why = |name: &String| {
            let near = names::did_you_mean(name, known.iter().map(String::as_str));
            let why = format!("the block [gates.{name}] is for a gate that is not there.{near}");
            self.config.with_line_of(&["gates", name], why)
        };
        unknown.map(why).collect()
    }

    /// The file of a gate: the one that the configuration names, else `<name>.wasm` in the first folder
    /// that has one.
    pub(crate) fn file_of(&self, name: &str) -> Result<PathBuf, String> {
        if let Some(GateConfig { component: Some(file), .. }) = self.config.gates.get(name) {
            return Ok(file.clone());
        }
        // A gate's name is a file's stem; anything else could lead out of the folder.
        check_gate_name(name)?;
        let folders = self.config.gate_folders.iter();
        let mut files = folders.map(|folder| (folder, folder.join(format!("{name}.wasm"))));
        if let Some((folder, file)) = files.find(|(_, file)| exists(file)) {
            return if stays_inside(folder, &file) {
                Ok(file)
            } else {
                Err(format!(
                    "gate '{name}': {} is a link that leads out of its folder. To use it all the same, name \
                     the file with `component` under [gates.{name}] in presets.toml.",
                    file.display()
                ))
            };
        }
        Err(self.unknown(name))
    }

    fn unknown(&self, name: &str) -> String {
        let mut known = self.names();
        known.extend(built_in::names().filter(|_| built_in::is_in_config(&self.config)).map(str::to_owned));
        known.sort();
        known.dedup();
        let near = names::did_you_mean(name, known.iter().map(String::as_str));
        let shown = names::quoted(name, 64);
        let folders: Vec<String> = self.config.gate_folders.iter().map(|f| f.display().to_string()).collect();
        let folders = folders.join(", ");
        let projects = self.config.gate_folders.iter().filter_map(|folder| GateProject::find(folder).ok());
        if let Some(project) = projects.into_iter().find(|project| project.name == name) {
            let folder = project.folder.display();
            return format!(
                "gate '{shown}' is not built yet; run `gatehouse gates build {folder}`, which makes {shown}.wasm"
            );
        }
        let there_are = match (known.is_empty(), built_in::has_gates()) {
            (false, _) => format!("There are: {}.", known.join(", ")),
            (true, true) => format!(
                "There is no gate in {folders}; write gates = [\"gates\", \"{}\"] under [host] for the shipped ones.",
                built_in::NAME
            ),
            (true, false) => {
                format!("There is no gate in {folders}; `cargo xtask gates` builds the shipped ones.")
            }
        };
        format!("unknown gate '{shown}': no {shown}.wasm in {folders}.{near} {there_are}")
    }
}

impl Composition {
    /// The gate of this name, loaded once. The error names the file, or what exists instead.
    pub(crate) async fn gate(&self, name: &str) -> Result<Arc<Gate>, String> {
        self.gates.get(name).await
    }

    /// A gate from any file, with what the configuration grants to the gate of that name.
    pub(crate) async fn gate_at(&self, file: &Path) -> Result<Gate, String> {
        self.gates.load_file(file).await
    }

    /// A gate from any file, without grants and whatever the configuration pins.
    pub(crate) async fn bare_gate(&self, name: &str, file: &Path) -> Result<Gate, String> {
        self.gates.bare(name, file).await
    }

    /// Names of all gates there are: files in the folders, and those that the configuration names.
    pub(crate) fn gate_names(&self) -> Vec<String> {
        self.gates.names()
    }
}

/// What the configuration says of a gate that is in this file. A shipped block is for the shipped component alone.
fn block(config: &Config, name: &str, file: &Path) -> GateConfig {
    let block = config.gates.get(name).filter(|gate| !gate.shipped || built_in::is_built_in(file));
    block.cloned().unwrap_or_default()
}

/// True if there is a gate under this path: a file, or one in the binary. What is in the current folder is not in the binary's.
fn exists(file: &Path) -> bool {
    built_in::is_built_in(file) || !file.parent().is_some_and(built_in::is_folder) && file.exists()
}

/// A link may point to another file of its folder, as mounted folders do, and nowhere else: who can write
/// links into a folder should not choose files that he cannot write.
fn stays_inside(folder: &Path, file: &Path) -> bool {
    if built_in::is_built_in(file) || !file.is_symlink() {
        return true;
    }
    let (folder, file) = (folder.canonicalize(), file.canonicalize());
    matches!((folder, file), (Ok(folder), Ok(file)) if file.starts_with(&folder))
}

/// The stems of a folder's components that can be gates there.
fn stems(folder: &Path) -> Vec<String> {
    if built_in::is_folder(folder) {
        return built_in::names().map(str::to_owned).collect();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wasm =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "wasm"));
    wasm.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}

fn wasm_files(folder: &Path) -> Vec<String> {
    stems(folder).into_iter().filter(|name| is_gate_name(name)).collect()
}
