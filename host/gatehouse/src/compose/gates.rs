//! The gates of a composition: their files, and the ones that are loaded.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gatehouse_core::{SourceId, names};
use gatehouse_sandbox::{Gate, GateSettings, Sandbox};
use tokio::{sync::Mutex, time::timeout};

use super::PlainError;
use crate::{
    allocator, built_in,
    config::{Config, GateConfig, check_gate_name, is_gate_name},
    out,
    scaffold::GateProject,
};

/// Time after which a terminal shows that a gate is compiled.
const NOTE_DELAY: Duration = Duration::from_secs(1);

/// Gates by name. A loaded gate never changes, even if its file does.
pub(crate) struct GateRegistry {
    config: Arc<Config>,
    pub(crate) sandbox: Sandbox,
    loaded: Mutex<BTreeMap<String, Arc<Gate>>>,
    /// Gates that were served and whose files are missing now.
    pub(crate) withdrawn: BTreeSet<String>,
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
            // New settings apply immediately, even to a former version. If the file or the pin changed, `get` loads the
            // gate again.
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

    /// Restores a former version of a gate, with the current settings. The error is the reason it cannot be restored.
    pub(crate) async fn restore(&self, former: &Gate) -> Result<(), PlainError> {
        let name = &former.info().name;
        if self.file_of(name).is_ok_and(|file| file != former.info().file) {
            return Err("it came from a different file than the configured one".into());
        }
        let settings = block(&self.config, name, &former.info().file).settings;
        let gate = former.with_settings(settings).map_err(|error| error.to_string())?;
        self.loaded.lock().await.insert(name.clone(), Arc::new(gate));
        Ok(())
    }

    pub(crate) async fn loaded(&self) -> BTreeMap<String, Arc<Gate>> {
        self.loaded.lock().await.clone()
    }

    pub(crate) fn is_withdrawn(&self, source: &SourceId) -> bool {
        matches!(source, SourceId::Gate(name) if self.withdrawn.contains(&**name))
    }

    /// Caches compiled functions across builds of a gate, for gate developers. Blocking.
    pub(crate) fn enable_function_cache(&self) {
        self.sandbox.enable_function_cache(&self.config.cache);
    }

    /// The error names the file, or the gates that exist.
    pub(crate) async fn get(&self, name: &str) -> Result<Arc<Gate>, PlainError> {
        let mut loaded = self.loaded.lock().await;
        if let Some(gate) = loaded.get(name) {
            return Ok(Arc::clone(gate));
        }
        let file = self.file_of(name)?;
        let GateConfig { settings, origin, .. } = block(&self.config, name, &file);
        if let Some(origin) = origin.filter(|_| !exists(&file)) {
            let option = if origin.short_name() == name { String::new() } else { format!(" --name {name}") };
            bail!("gate '{name}' is not installed; run `gatehouse gates add {origin}{option}`");
        }
        let gate = self.load(name, &file, settings).await;
        let gate = Arc::new(gate.map_err(|error| format!("gate '{name}' cannot be loaded: {error}"))?);
        loaded.insert(name.to_owned(), Arc::clone(&gate));
        Ok(gate)
    }

    /// Returns true if a shipped gate has this name and the configuration names no other component for it.
    pub(crate) fn has_shipped(&self, name: &str) -> bool {
        let component = self.config.gates.get(name).and_then(|gate| gate.component.as_ref());
        component.is_none() && built_in::is_shipped(name) && built_in::is_in_config(&self.config)
    }

    pub(crate) async fn shipped(&self, name: &str) -> Result<Gate, PlainError> {
        let file = Path::new(built_in::NAME).join(format!("{name}.wasm"));
        self.load(name, &file, block(&self.config, name, &file).settings).await
    }

    /// Loads a gate from any file, with the settings of the gate of that name.
    pub(crate) async fn load_granted(&self, file: &Path) -> Result<Gate, PlainError> {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let settings = block(&self.config, &name, file).settings;
        self.load(&name, file, settings).await
    }

    /// Loads a gate from any file, without grants or pins.
    pub(crate) async fn load_without_grants(&self, name: &str, file: &Path) -> Result<Gate, PlainError> {
        self.load(name, file, GateSettings::default()).await
    }

    /// Loads a new file on a blocking thread: compiling takes seconds, and the host must be able to shut down.
    async fn load(&self, name: &str, file: &Path, settings: GateSettings) -> Result<Gate, PlainError> {
        let known_gate = self.sandbox.known_gate(name, file, &settings).map_err(|error| error.to_string())?;
        if let Some(known_gate) = known_gate {
            return Ok(known_gate);
        }
        let (sandbox, name, file) = (self.sandbox.clone(), name.to_owned(), file.to_owned());
        // Compiling takes many seconds, loading machine code of the cache a few milliseconds.
        let note = out::is_interactive().then(|| format!("compiling gate {name} …"));
        let mut loading = tokio::task::spawn_blocking(move || {
            let gate = sandbox.gate(&name, &file, settings);
            // Compiling takes tens of megabytes.
            allocator::release_free_memory();
            gate
        });
        let loaded = match note {
            Some(note) => match timeout(NOTE_DELAY, &mut loading).await {
                Ok(loaded) => loaded,
                Err(_) => {
                    out::note(note);
                    loading.await
                }
            },
            None => loading.await,
        };
        loaded.map_err(|error| error.to_string())?.map_err(|error| error.to_string().into())
    }

    /// Returns the settings of a gate. `None` if it has no block.
    pub(crate) fn settings(&self, name: &str) -> Option<GateSettings> {
        self.config.gates.get(name)?;
        Some(block(&self.config, name, &self.file_of(name).unwrap_or_default()).settings)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        Self::names_in(&self.config)
    }

    /// Returns the names of all gates: files in the directories, and those that the configuration names.
    pub(crate) fn names_in(config: &Config) -> Vec<String> {
        // Shipped gates that the file does not list count only if they are served.
        let folders = config.gate_folders.iter();
        let folders = folders.filter(|folder| config.lists_gates || !built_in::is_folder(folder));
        let dropped = folders.flat_map(|folder| stems(folder)).filter(|name| is_gate_name(name));
        let named = config.gates.iter().filter(|(_, gate)| gate.component.is_some());
        let shipped = config.served_gates().into_iter();
        let shipped = shipped.filter(|name| built_in::is_in_config(config) && built_in::is_shipped(name));
        let named = named.map(|(name, _)| name.clone());
        let mut names: Vec<String> = dropped.chain(named).chain(shipped).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Returns a message for each file whose name is not valid for a gate.
    pub(crate) fn misnamed(&self) -> Vec<String> {
        let folders = self.config.gate_folders.iter();
        let files = folders.flat_map(|folder| stems(folder).into_iter().map(move |stem| (folder, stem)));
        let note = |(folder, stem): (&PathBuf, String)| {
            let reason = check_gate_name(&stem).err()?;
            Some(format!("a file in {} is ignored: {reason}", folder.display()))
        };
        files.filter_map(note).collect()
    }

    /// Returns a message for each block of an unknown gate, with its line and the nearest name.
    pub(crate) fn blocks_without_gate(&self) -> Vec<String> {
        let gate_names = self.names();
        let configured = self.config.gates.iter().filter(|(_, gate)| !gate.shipped).map(|(name, _)| name);
        let unknown = configured.filter(|name| !gate_names.contains(name));
        let warning = |name: &String| {
            let suggestion = names::did_you_mean(name, gate_names.iter().map(String::as_str));
            let message = format!("the block [gates.{name}] is for an unknown gate.{suggestion}");
            self.config.with_line_of(&["gates", name], message)
        };
        unknown.map(warning).collect()
    }

    /// Returns the file of a gate: the one that the configuration names, else `<name>.wasm` in the first directory that
    /// has one.
    pub(crate) fn file_of(&self, name: &str) -> Result<PathBuf, PlainError> {
        if let Some(GateConfig { component: Some(file), .. }) = self.config.gates.get(name) {
            return Ok(file.clone());
        }
        // Other names could lead out of the directory.
        check_gate_name(name)?;
        let folders = self.config.gate_folders.iter();
        let mut files = folders.map(|folder| (folder, folder.join(format!("{name}.wasm"))));
        if let Some((folder, file)) = files.find(|(_, file)| exists(file)) {
            if stays_inside(folder, &file) {
                return Ok(file);
            }
            bail!(
                "gate '{name}': {} is a link to a file outside its directory. To use it anyway, name the file \
                with `component` under [gates.{name}] in presets.toml.",
                file.display()
            );
        }
        Err(self.unknown(name).into())
    }

    fn unknown(&self, name: &str) -> String {
        let mut gate_names = self.names();
        gate_names
            .extend(built_in::names().filter(|_| built_in::is_in_config(&self.config)).map(str::to_owned));
        gate_names.sort();
        gate_names.dedup();
        let suggestion = names::did_you_mean(name, gate_names.iter().map(String::as_str));
        let display_name = names::quoted(name, 64);
        let folders: Vec<String> = self.config.gate_folders.iter().map(|f| f.display().to_string()).collect();
        let folders = folders.join(", ");
        let mut projects =
            self.config.gate_folders.iter().filter_map(|folder| GateProject::find(folder).ok());
        if let Some(project) = projects.find(|project| project.name == name) {
            let folder = project.folder.display();
            return format!(
                "gate '{display_name}' is not built yet; run `gatehouse gates build {folder}`, which makes \
                {display_name}.wasm"
            );
        }
        let there_are = match (gate_names.is_empty(), built_in::names().next().is_some()) {
            (false, _) => format!("There are: {}.", gate_names.join(", ")),
            (true, true) => format!(
                "There is no gate in {folders}; write gates = [\"gates\", \"{}\"] under [host] for the shipped ones.",
                built_in::NAME
            ),
            (true, false) => {
                format!("There is no gate in {folders}; `cargo xtask gates` builds the shipped ones.")
            }
        };
        format!("unknown gate '{display_name}': no {display_name}.wasm in {folders}.{suggestion} {there_are}")
    }
}

/// Returns the block of a gate in `file`. A shipped block applies only to the shipped component.
fn block(config: &Config, name: &str, file: &Path) -> GateConfig {
    let block = config.gates.get(name).filter(|gate| !gate.shipped || built_in::is_built_in(file));
    block.cloned().unwrap_or_default()
}

/// Returns whether a gate is at this path: a file, or one in the binary.
fn exists(file: &Path) -> bool {
    built_in::is_built_in(file) || !file.parent().is_some_and(built_in::is_folder) && file.exists()
}

/// Returns whether a file is in `folder` after links are resolved.
///
/// Mounted directories use links within the directory. With links to the outside, a user who can only create links
/// could choose the file.
fn stays_inside(folder: &Path, file: &Path) -> bool {
    if built_in::is_built_in(file) || !file.is_symlink() {
        return true;
    }
    let (folder, file) = (folder.canonicalize(), file.canonicalize());
    matches!((folder, file), (Ok(folder), Ok(file)) if file.starts_with(&folder))
}

fn stems(folder: &Path) -> Vec<String> {
    if built_in::is_folder(folder) {
        return built_in::names().map(str::to_owned).collect();
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let wasm =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ext| ext == "wasm"));
    wasm.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect()
}
