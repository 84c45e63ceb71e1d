//! From a file to a gate: digest, pin, import list, machine code. Refuses what is not a component of this
//! contract, and says which file and why.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use gatehouse_core::{capability::Grants, http::HttpRules, lock, names::quoted};
use tokio::sync::Semaphore;
use wasmtime::component::Component;

use crate::{
    Ports,
    abi::{self, GatePre},
    cache,
    capacity::{InstanceCapacity, SystemLimits},
    component_info::ComponentInfo,
    embedded::EmbeddedComponents,
    engine::WasmRuntime,
    folders::GuestFolder,
    function_cache::FunctionCache,
    gate::Gate,
    index::{FileStamp, GateIndex},
    instance::LoadedComponent,
    instance_slots::InstanceSlots,
    limits::SandboxLimits,
    machine_code::MachineCode,
    traps::TrapCounters,
    version::GateVersion,
    wasi::threads::FileThreadPools,
};

/// Why a file cannot serve as a gate.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct LoadError {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub why: String,
    /// True if another file would not do either: the sandbox itself cannot start.
    pub is_of_host: bool,
}

impl LoadError {
    pub(crate) fn new(file: &Path, why: impl Into<String>) -> Self {
        Self { file: file.into(), why: why.into(), is_of_host: false }
    }
}

/// What presets.toml says about one gate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateSettings {
    /// What it may reach.
    pub grants: Grants,
    /// Whom it may send HTTP requests to; none is nobody.
    pub http: Option<Arc<HttpRules>>,
    /// What it may use up.
    pub limits: SandboxLimits,
    /// The only content it may have, as a SHA-256 in hexadecimal.
    pub sha256: Option<String>,
    /// Folders that it sees.
    pub folders: Vec<GuestFolder>,
    /// Whether an instance serves one call after the other.
    pub reuse: bool,
}

/// What all gates of a host share.
pub(crate) struct SandboxState {
    pub(crate) ports: Ports,
    embedded: EmbeddedComponents,
    pub(crate) index: GateIndex,
    counts: TrapCounters,
    machine_code: MachineCode,
    /// The most bytes of machine code that are kept.
    cap: AtomicU64,
    /// Functions of gates that are being written.
    functions: OnceLock<Arc<FunctionCache>>,
    runtime: OnceLock<Arc<WasmRuntime>>,
    /// Held while a runtime is made or a component compiled: one at a time, so that calls keep a core.
    compiling: Mutex<()>,
    pub(crate) capacity: InstanceCapacity,
    pub(crate) places: InstanceSlots,
    /// Places of instances that wait for a call.
    pub(crate) reserve: Arc<Semaphore>,
    /// For the files of each gate.
    pub(crate) threads: FileThreadPools,
}

/// Loads gates and runs them.
#[derive(Clone)]
pub struct Sandbox {
    shared: Arc<SandboxState>,
}

impl Sandbox {
    /// `cache` is a folder of our own for compiled gates and the index. Nothing is compiled, and the
    /// engine is not even made, until a gate needs it. `cap` is the most bytes of compiled gates to keep,
    /// `embedded` the components in the program, `limits` what the system lets this process have.
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

    /// Makes a gate of a file. Blocking: it reads, and compiles, a file that it does not know yet.
    pub fn gate(&self, name: &str, file: &Path, settings: GateSettings) -> Result<Gate, LoadError> {
        let bad = |why: String| LoadError::new(file, why);
        let stamp = self.shared.embedded.checked_stamp(file).map_err(bad)?;
        let pin = settings.sha256.as_deref();
        let known = self.shared.index.digest(file, &stamp);
        let known = known.and_then(|digest| Some((digest.clone(), self.shared.index.ask(&digest)?, None)));
        let (digest, ask, ready) = match known {
            Some(known) => {
                check_pin(pin, &known.0).map_err(bad)?;
                known
            }
            None => {
                let (ComponentInfo { digest, ask, .. }, ready) =
                    self.shared.read(file, |digest| check_pin(pin, digest))?;
                // A file that was replaced while it was read is looked at again next time.
                if self.stamp(file).is_ok_and(|now| now == stamp) {
                    self.shared.index.learn_file(file, stamp.clone(), &digest, ask.clone());
                }
                (digest, ask, Some(ready))
            }
        };
        let traps = self.shared.counts.for_version(name, &digest);
        let version = GateVersion::new((file.to_owned(), stamp), digest, ask, traps, ready);
        Gate::new(name, version, settings, Arc::clone(&self.shared))
    }

    /// From now on keeps compiled functions for the next build of a gate, in the cache's folder. Without effect once a
    /// gate was compiled. Blocking.
    pub fn enable_function_cache(&self, cache: &Path) {
        self.shared.functions.get_or_init(|| Arc::new(FunctionCache::open(cache::functions(cache))));
    }

    /// What a gate's file is known by: as it is now, or in the program.
    pub fn stamp(&self, file: &Path) -> io::Result<FileStamp> {
        self.shared.embedded.stamp(file)
    }

    /// From now on at most so many bytes of compiled gates are kept, or those of the one that was used last.
    /// Blocking.
    pub fn set_code_cap(&self, cap: u64) {
        self.shared.cap.store(cap, Ordering::Relaxed);
        self.shared.machine_code.shrink(cap);
    }
}

impl SandboxState {
    /// A component ready to run, from machine code where there is some, else from the file.
    pub(crate) fn load(&self, file: &Path, digest: &str) -> Result<LoadedComponent, LoadError> {
        let bad = |why: String| LoadError::new(file, why);
        let runtime = self.runtime(file)?;
        if let Some(component) = self.machine_code.load(&runtime.engine, digest) {
            return link(runtime, &component).map_err(bad);
        }
        let same = |found: &str| match found == digest {
            true => Ok(()),
            false => Err("was replaced, and the version that is served is no longer at hand".into()),
        };
        self.read(file, same).map(|(_, ready)| ready)
    }

    /// Reads a file: its digest, and its component, compiled if need be. A file whose digest is not
    /// admitted is not even compiled.
    fn read(
        &self,
        file: &Path,
        admit: impl Fn(&str) -> Result<(), String>,
    ) -> Result<(ComponentInfo, LoadedComponent), LoadError> {
        let bad = |why: String| LoadError::new(file, why);
        let wasm = self.embedded.bytes(file).map_err(|error| bad(error.to_string()))?;
        let info = ComponentInfo::read(&wasm).map_err(|error| bad(error.to_string()))?;
        let digest = &info.digest;
        admit(digest).map_err(bad)?;
        let runtime = self.runtime(file)?;
        let _one_at_a_time = lock(&self.compiling);
        let compiled = match self.machine_code.load(&runtime.engine, digest) {
            Some(component) => Ok(component),
            None => {
                let compiled = self.machine_code.compile(&runtime.engine, digest, &wasm);
                self.functions.get().into_iter().for_each(|functions| functions.end_build());
                self.machine_code.shrink(self.cap.load(Ordering::Relaxed));
                compiled
            }
        };
        let component = compiled.map_err(|error| {
            bad(format!("is not a valid component: {}", quoted(&format!("{error:#}"), 400)))
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
        let made = WasmRuntime::new(&self.capacity, functions);
        let made = made.map_err(|error| LoadError {
            is_of_host: true,
            ..LoadError::new(file, format!("the sandbox cannot start: {error:#}"))
        })?;
        Ok(Arc::clone(self.runtime.get_or_init(|| Arc::new(made))))
    }
}

pub(crate) fn check_pin(pin: Option<&str>, digest: &str) -> Result<(), String> {
    match pin.filter(|pin| !pin.eq_ignore_ascii_case(digest)) {
        Some(pin) => Err(format!("its SHA-256 is {digest}, but presets.toml pins {}", quoted(pin, 64))),
        None => Ok(()),
    }
}

/// Checks that the host has what the component imports, and the component what the host calls.
fn link(runtime: Arc<WasmRuntime>, component: &Component) -> Result<LoadedComponent, String> {
    let pre = runtime.linker.instantiate_pre(component).and_then(|pre| GatePre::new(&pre));
    let pre = pre.map_err(|error| {
        format!("does not fit the contract {}: {}", abi::CURRENT, quoted(&format!("{error:#}"), 400))
    })?;
    Ok(LoadedComponent { runtime, pre })
}
