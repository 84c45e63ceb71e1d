//! Loads gates: reads the file, checks digest, pin and imports, and compiles it or maps the machine code.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use gatehouse_core::{
    InvalidValue,
    capability::{Grants, RequestedCapabilities},
    http::HttpRules,
    lock,
    names::quoted,
};
use gatehouse_telemetry::record_cache_use;
use rayon::ThreadPoolBuilder;
use tokio::sync::{OnceCell, Semaphore};
use wasmtime::component::Component;

use crate::{
    Ports,
    abi::{self, GatePre},
    cache,
    capacity::{InstanceCapacity, InstanceSlots, SystemLimits},
    component_info::ComponentInfo,
    engine::WasmRuntime,
    folders::GuestFolder,
    function_cache::FunctionCache,
    gate::Gate,
    index::{EmbeddedComponents, FileStamp, GateIndex},
    instance::LoadedComponent,
    limits::SandboxLimits,
    machine_code::MachineCode,
    version::{GateVersion, TrapCounters},
    wasi::FileThreadPools,
};

#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct LoadError {
    pub file: PathBuf,
    pub reason: String,
    /// True if the sandbox itself cannot start, so that no file would load.
    pub is_of_host: bool,
}

impl LoadError {
    pub(crate) fn new(file: &Path, reason: impl Into<String>) -> Self {
        Self { file: file.into(), reason: reason.into(), is_of_host: false }
    }
}

/// Settings of one gate in presets.toml.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateSettings {
    pub grants: Grants,
    /// Allowed HTTP requests. `None` allows none.
    pub http: Option<Arc<HttpRules>>,
    pub limits: SandboxLimits,
    /// Required SHA-256 of the file, in hexadecimal.
    pub sha256: Option<String>,
    pub folders: Vec<GuestFolder>,
    /// True if an instance serves several calls, one after another.
    pub reuse: bool,
}

pub(crate) struct SandboxState {
    pub(crate) ports: Ports,
    embedded: EmbeddedComponents,
    pub(crate) index: GateIndex,
    counts: TrapCounters,
    machine_code: MachineCode,
    cap: AtomicU64,
    /// Compiled functions, for fast rebuilds of gates under development.
    functions: OnceLock<Arc<FunctionCache>>,
    runtime: OnceLock<Arc<WasmRuntime>>,
    /// Held while an engine is created or a component compiled. One at a time leaves cores free for calls.
    compiling: Mutex<()>,
    pub(crate) capacity: InstanceCapacity,
    pub(crate) places: InstanceSlots,
    /// Permits for idle instances.
    pub(crate) reserve: Arc<Semaphore>,
    pub(crate) threads: FileThreadPools,
}

#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<SandboxState>,
}

impl Sandbox {
    /// Creates a sandbox. `cache` is a private folder for compiled gates and the index, with at most `cap` bytes of
    /// compiled gates. The engine is created when the first gate needs it.
    pub fn new(
        cache: &Path,
        cap: u64,
        embedded: EmbeddedComponents,
        limits: SystemLimits,
        ports: Ports,
    ) -> Self {
        let capacity = InstanceCapacity::new(limits);
        let shared = SandboxState {
            ports,
            embedded,
            index: GateIndex::open(cache::index(cache)),
            counts: TrapCounters::default(),
            machine_code: cache::machine_code(cache),
            cap: AtomicU64::new(cap),
            functions: OnceLock::new(),
            runtime: OnceLock::new(),
            compiling: Mutex::new(()),
            places: InstanceSlots::new(capacity.places),
            reserve: Arc::new(Semaphore::new(capacity.idle)),
            capacity,
            threads: FileThreadPools::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns how many instances run, and how many may run at the same time.
    pub fn instances(&self) -> (usize, usize) {
        let most = self.shared.capacity.places.iter().sum::<usize>();
        (most.saturating_sub(self.shared.places.free()), most)
    }

    /// Loads a gate from a file. Blocks: a file that is not in the index is read and compiled.
    pub fn gate(&self, name: &str, file: &Path, settings: GateSettings) -> Result<Gate, LoadError> {
        let bad = |reason: InvalidValue| LoadError::new(file, reason);
        let stamp = self.shared.embedded.checked_stamp(file).map_err(bad)?;
        if let Some(gate) = self.known_gate_of(name, file, &stamp, &settings)? {
            return Ok(gate);
        }
        let pin = settings.sha256.as_deref();
        let (info, ready) = self.shared.read(file, |digest| check_pin(pin, digest))?;
        // If the file changed while it was read, do not record it; the next load reads it again.
        if self.stamp(file).is_ok_and(|now| now == stamp) {
            self.shared.index.learn_file(file, stamp.clone(), &info.digest, info.ask.clone());
        }
        self.gate_of(name, (file, stamp), (info.digest, info.ask, Some(ready)), settings)
    }

    /// Loads a gate whose file is unchanged since an earlier load, without reading it. `None` for other files.
    pub fn known_gate(
        &self,
        name: &str,
        file: &Path,
        settings: &GateSettings,
    ) -> Result<Option<Gate>, LoadError> {
        let stamp =
            self.shared.embedded.checked_stamp(file).map_err(|reason| LoadError::new(file, reason))?;
        self.known_gate_of(name, file, &stamp, settings)
    }

    fn known_gate_of(
        &self,
        name: &str,
        file: &Path,
        stamp: &FileStamp,
        settings: &GateSettings,
    ) -> Result<Option<Gate>, LoadError> {
        let Some((digest, ask)) = self.shared.index.known(file, stamp) else { return Ok(None) };
        self.gate_of(name, (file, stamp.clone()), (digest, ask, None), settings.clone()).map(Some)
    }

    fn gate_of(
        &self,
        name: &str,
        (file, stamp): (&Path, FileStamp),
        (digest, requested, ready): (String, RequestedCapabilities, Option<LoadedComponent>),
        settings: GateSettings,
    ) -> Result<Gate, LoadError> {
        let traps = self.shared.counts.for_version(name, &digest);
        let component = OnceCell::new_with(ready);
        let version = GateVersion { file: file.to_owned(), stamp, digest, requested, traps, component };
        Gate::new(name, Arc::new(version), settings, Arc::clone(&self.shared))
    }

    /// Caches compiled functions to speed up the next build of a gate. Call it before the first compilation. Blocks.
    pub fn enable_function_cache(&self, cache: &Path) {
        self.shared.functions.get_or_init(|| Arc::new(FunctionCache::open(cache::functions(cache))));
    }

    pub fn stamp(&self, file: &Path) -> io::Result<FileStamp> {
        self.shared.embedded.stamp(file)
    }

    /// Limits the cache of compiled gates to `cap` bytes; the most recently used gate always stays. Blocks.
    pub fn set_code_cap(&self, cap: u64) {
        self.shared.cap.store(cap, Ordering::Relaxed);
        self.shared.machine_code.shrink(cap);
    }
}

impl SandboxState {
    /// Returns the component, from machine code if possible, otherwise from the file.
    pub(crate) fn load(&self, file: &Path, digest: &str) -> Result<LoadedComponent, LoadError> {
        let bad = |reason: InvalidValue| LoadError::new(file, reason);
        let runtime = self.runtime(file)?;
        let loaded = self.machine_code.load(&runtime.engine, digest);
        record_cache_use("machine-code", loaded.is_some());
        if let Some(component) = loaded {
            return link(runtime, &component).map_err(bad);
        }
        let same = |actual_digest: &str| match actual_digest == digest {
            true => Ok(()),
            false => Err("was replaced, and the served version is no longer available".into()),
        };
        self.read(file, same).map(|(_, ready)| ready)
    }

    /// Reads and, if necessary, compiles a file. `admit` sees the digest first and can reject the file.
    fn read(
        &self,
        file: &Path,
        admit: impl Fn(&str) -> Result<(), InvalidValue>,
    ) -> Result<(ComponentInfo, LoadedComponent), LoadError> {
        let bad = |reason: InvalidValue| LoadError::new(file, reason);
        let of_host = |reason: String| LoadError { is_of_host: true, ..LoadError::new(file, reason) };
        let wasm = self.embedded.bytes(file).map_err(|error| LoadError::new(file, error.to_string()))?;
        let info = ComponentInfo::read(&wasm).map_err(|error| LoadError::new(file, error.to_string()))?;
        let digest = &info.digest;
        admit(digest).map_err(bad)?;
        let runtime = self.runtime(file)?;
        let _one_at_a_time = lock(&self.compiling);
        let compiled = match self.machine_code.load(&runtime.engine, digest) {
            Some(component) => Ok(component),
            None => {
                // The compiler takes up to a hundred times the size of a gate, and the allocator keeps what a thread
                // has freed for that thread, so its threads end with the compilation.
                let threads = ThreadPoolBuilder::new().thread_name(|n| format!("gate-compiler-{n}")).build();
                let threads = threads
                    .map_err(|error| of_host(format!("the threads of the compiler cannot start: {error}")))?;
                let compile = || self.machine_code.compile(&runtime.engine, digest, &wasm);
                let compiled = threads.install(compile);
                self.functions.get().into_iter().for_each(|functions| functions.end_build());
                self.machine_code.shrink(self.cap.load(Ordering::Relaxed));
                compiled
            }
        };
        let component = compiled.map_err(|error| {
            let reason = format!("is not a valid component: {}", quoted(&format!("{error:#}"), 400));
            LoadError::new(file, reason)
        })?;
        let ready = link(runtime, &component).map_err(bad)?;
        Ok((info, ready))
    }

    fn runtime(&self, file: &Path) -> Result<Arc<WasmRuntime>, LoadError> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(Arc::clone(runtime));
        }
        let _one_at_a_time = lock(&self.compiling);
        if let Some(runtime) = self.runtime.get() {
            return Ok(Arc::clone(runtime));
        }
        let functions = self.functions.get().map(|functions| Arc::clone(functions) as _);
        let runtime = WasmRuntime::new(&self.capacity, functions);
        let runtime = runtime.map_err(|error| LoadError {
            is_of_host: true,
            ..LoadError::new(file, format!("the sandbox cannot start: {error:#}"))
        })?;
        Ok(Arc::clone(self.runtime.get_or_init(|| Arc::new(runtime))))
    }
}

pub(crate) fn check_pin(pin: Option<&str>, digest: &str) -> Result<(), InvalidValue> {
    match pin.filter(|pin| !pin.eq_ignore_ascii_case(digest)) {
        Some(pin) => {
            Err(format!("its SHA-256 is {digest}, but presets.toml pins {}", quoted(pin, 64)).into())
        }
        None => Ok(()),
    }
}

/// Checks that the host provides all imports and the component all exports of the contract.
fn link(runtime: Arc<WasmRuntime>, component: &Component) -> Result<LoadedComponent, InvalidValue> {
    let pre = runtime.linker.instantiate_pre(component).and_then(|pre| GatePre::new(&pre));
    let pre = pre.map_err(|error| {
        format!("does not match the contract {}: {}", abi::CURRENT, quoted(&format!("{error:#}"), 400))
    })?;
    Ok(LoadedComponent { runtime, pre })
}
