//! Presets that clients can use. A reload swaps in new catalogs; clients are notified only if their lists changed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use gatehouse_core::{Catalog, CompiledPreset, Pipeline, catalog::CatalogError, lock};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::serve::{
    elicitation::OpenQuestions,
    lists::{
        ListKind,
        clients::{ClientInfo, PresetClients},
    },
    requests::paused_calls::PausedCalls,
    shutdown::Shutdown,
};

/// Catalog and instructions of a preset, ready to be served.
pub struct PresetView {
    pub catalog: Catalog,
    pub instructions: Option<String>,
}

/// A served preset. Clients keep it across reloads.
pub struct ServedPreset {
    catalog: ArcSwap<Catalog>,
    instructions: Mutex<Option<String>>,
    /// True if a client was answered before the preset was composed, so every list was declared.
    promised_all: AtomicBool,
    changes: watch::Sender<[u64; 3]>,
    swaps: watch::Sender<u64>,
    pub(super) clients: PresetClients,
}

impl ServedPreset {
    fn new(view: PresetView, clients_changed: &ClientsChanged) -> Self {
        Self {
            catalog: ArcSwap::from_pointee(view.catalog),
            instructions: Mutex::new(view.instructions),
            promised_all: AtomicBool::new(false),
            changes: watch::Sender::default(),
            swaps: watch::Sender::default(),
            clients: PresetClients::new(clients_changed.clone()),
        }
    }

    /// Returns the current catalog. A call uses the same one until it ends.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Returns the catalog, after waiting a few seconds for servers that have not listed anything yet.
    pub(super) async fn settled_catalog(&self) -> Arc<Catalog> {
        let mut swaps = self.swaps.subscribe();
        loop {
            let catalog = self.catalog();
            let Some(until) = catalog.listing_deadline() else { return catalog };
            if tokio::time::timeout_at(until, swaps.changed()).await.is_err() {
                return self.catalog();
            }
        }
    }

    /// Returns the catalog, after waiting like [`Self::settled_catalog`] if it lacks this tool.
    pub(super) async fn catalog_with(&self, tool: &str) -> Arc<Catalog> {
        let catalog = self.catalog();
        if catalog.get(tool).is_some() { catalog } else { self.settled_catalog().await }
    }

    pub(super) fn instructions(&self) -> Option<String> {
        lock(&self.instructions).clone()
    }

    /// Records that every list was declared. Lists that the preset lacks are served as empty.
    pub(super) fn promise_all(&self) {
        self.promised_all.store(true, Ordering::Relaxed);
    }

    /// True if clients may request lists that the preset does not have.
    pub(super) fn has_promised_all(&self) -> bool {
        self.promised_all.load(Ordering::Relaxed)
    }

    pub(super) fn changes(&self) -> watch::Receiver<[u64; 3]> {
        self.changes.subscribe()
    }

    /// Sets the first view. No client has a list yet.
    fn begin(&self, view: PresetView) {
        *lock(&self.instructions) = view.instructions;
        self.catalog.store(Arc::new(view.catalog));
    }

    /// Swaps in a new view. Returns true if any list changed.
    fn swap(&self, view: PresetView) -> bool {
        *lock(&self.instructions) = view.instructions;
        let catalog = Arc::new(view.catalog);
        let before = self.catalog.swap(Arc::clone(&catalog));
        self.swaps.send_modify(|swaps| *swaps += 1);
        let changed = ListKind::changed(&before, &catalog);
        if changed.is_empty() {
            return false;
        }
        self.changes.send_modify(|counts| changed.iter().for_each(|list| counts[*list as usize] += 1));
        self.clients.notify_clients(catalog.generation, &changed);
        true
    }

    /// Empties a removed preset for clients that are still connected.
    fn retire(&self, preset: &str) {
        if let Ok(catalog) = empty(preset) {
            self.swap(PresetView { catalog, instructions: self.instructions() });
        }
    }
}

fn empty(preset: &str) -> Result<Catalog, CatalogError> {
    Catalog::build(&CompiledPreset::from_sources(preset, Vec::new()), Vec::new())
}

pub(super) type ClientsChanged = watch::Sender<()>;

/// A preset, or the reason why it cannot be served.
type PresetResult = Result<Arc<ServedPreset>, String>;

fn serve_all(
    presets: BTreeMap<String, Result<PresetView, String>>,
    clients_changed: &ClientsChanged,
) -> BTreeMap<String, PresetResult> {
    let served = |view| Arc::new(ServedPreset::new(view, clients_changed));
    presets.into_iter().map(|(name, view)| (name, view.map(served))).collect()
}

/// All served presets and their shared state.
pub struct ServedPresets {
    pub(super) pipeline: Arc<Pipeline>,
    /// Calls of all presets that wait for answers.
    pub(super) open_questions: Arc<OpenQuestions>,
    pub(super) paused_calls: Arc<PausedCalls>,
    pub(super) shutdown: Arc<Shutdown>,
    pub(super) default: Arc<ServedPreset>,
    presets: ArcSwap<BTreeMap<String, PresetResult>>,
    /// Cancelled once the presets are composed.
    pub(super) composed: CancellationToken,
    clients_changed: ClientsChanged,
}

impl ServedPresets {
    /// Serves `default` to clients that do not name a preset, and `presets` by name over HTTP. An error is the reason
    /// why a preset cannot be served.
    pub fn new(
        pipeline: Pipeline,
        default: PresetView,
        presets: BTreeMap<String, Result<PresetView, String>>,
    ) -> Self {
        let clients_changed = ClientsChanged::default();
        let default = Arc::new(ServedPreset::new(default, &clients_changed));
        let presets = serve_all(presets, &clients_changed);
        let composed = CancellationToken::new();
        composed.cancel();
        Self {
            composed,
            pipeline: Arc::new(pipeline),
            open_questions: Arc::default(),
            paused_calls: Arc::default(),
            shutdown: Arc::default(),
            default,
            presets: ArcSwap::from_pointee(presets),
            clients_changed,
        }
    }

    /// Creates presets that are still being composed. Clients can connect and receive `instructions`; their other
    /// requests wait for [`ServedPresets::begin`].
    pub fn starting(
        pipeline: Pipeline,
        preset: &str,
        instructions: Option<String>,
    ) -> Result<Self, CatalogError> {
        let view = PresetView { catalog: empty(preset)?, instructions };
        let composed = CancellationToken::new();
        Ok(Self { composed, ..Self::new(pipeline, view, BTreeMap::new()) })
    }

    /// Sets the first presets after [`ServedPresets::starting`].
    pub fn begin(&self, default: PresetView, presets: BTreeMap<String, Result<PresetView, String>>) {
        self.presets.store(Arc::new(serve_all(presets, &self.clients_changed)));
        self.default.begin(default);
        self.composed.cancel();
    }

    /// Replaces all presets. Running calls finish with their old catalog.
    ///
    /// Returns the presets whose clients were notified. `None` is the default preset.
    pub fn swap(
        &self,
        default: PresetView,
        presets: BTreeMap<String, Result<PresetView, String>>,
    ) -> Vec<Option<String>> {
        let mut notified = Vec::new();
        if self.default.swap(default) {
            notified.push(None);
        }
        let before = self.presets.load_full();
        let mut now = BTreeMap::new();
        for (name, view) in presets {
            let named = match (view, before.get(&name)) {
                (Ok(view), Some(Ok(served))) => {
                    if served.swap(view) {
                        notified.push(Some(name.clone()));
                    }
                    Ok(Arc::clone(served))
                }
                (Ok(view), _) => Ok(Arc::new(ServedPreset::new(view, &self.clients_changed))),
                (Err(why), _) => Err(why),
            };
            now.insert(name, named);
        }
        self.presets.store(Arc::new(now));
        for (name, served) in before.iter().filter_map(|(name, served)| Some((name, served.as_ref().ok()?))) {
            if !matches!(self.presets.load().get(name), Some(Ok(_))) {
                served.retire(name);
                notified.push(Some(name.clone()));
            }
        }
        notified
    }

    pub(super) fn presets(&self) -> Arc<BTreeMap<String, PresetResult>> {
        self.presets.load_full()
    }

    pub fn clients(&self) -> Vec<ClientInfo> {
        let mut clients = self.default.clients.infos();
        for served in self.presets.load().values().filter_map(|served| served.as_ref().ok()) {
            clients.extend(served.clients.infos());
        }
        clients
    }

    /// Returns a receiver that wakes when [`ServedPresets::clients`] changes.
    pub fn client_changes(&self) -> watch::Receiver<()> {
        self.clients_changed.subscribe()
    }
}
