//! Presets that clients can use. A reload swaps in new catalogs; clients are notified only if their lists changed.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use gatehouse_core::{Caller, Catalog, CompiledPreset, Pipeline, access::AccessRules, catalog::CatalogError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    ConnectedClients,
    serve::{
        PresetView, PresetViews,
        caller_views::{CallerView, InstructionsWriter, PresetState},
        client_table,
        elicitation::OpenQuestions,
        lists::{
            ListKind,
            clients::{ClientInfo, PresetClients},
        },
        requests::{paused_calls::PausedCalls, tasks::TaskStore},
        shutdown::Shutdown,
    },
};

/// A served preset. Clients keep it across reloads.
pub struct ServedPreset {
    state: ArcSwap<PresetState>,
    /// True if a client was answered before the preset was composed, so every list was declared.
    promised_all: AtomicBool,
    /// Counts new states, whose lists may differ.
    swaps: watch::Sender<u64>,
    pub(super) clients: PresetClients,
}

impl ServedPreset {
    fn new(view: PresetView, rules: &Arc<AccessRules>, clients_changed: &ClientsChanged) -> Self {
        Self {
            state: ArcSwap::new(PresetState::new(view, rules)),
            promised_all: AtomicBool::new(false),
            swaps: watch::Sender::default(),
            clients: PresetClients::new(clients_changed.clone()),
        }
    }

    /// Returns the catalog of everything that the preset exposes, whoever calls.
    pub(super) fn full_catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.state.load().full.catalog)
    }

    pub(super) fn view(&self, caller: &Arc<Caller>) -> Arc<CallerView> {
        self.state.load().view(caller)
    }

    /// Returns the current catalog of a caller. A call uses the same one until it ends.
    pub(super) fn catalog(&self, caller: &Arc<Caller>) -> Arc<Catalog> {
        Arc::clone(&self.view(caller).catalog)
    }

    /// Returns the catalog, after waiting a few seconds for servers that have not listed anything yet.
    pub(super) async fn settled_catalog(&self, caller: &Arc<Caller>) -> Arc<Catalog> {
        let mut swaps = self.swaps.subscribe();
        loop {
            let catalog = self.catalog(caller);
            let Some(until) = catalog.listing_deadline() else { return catalog };
            if tokio::time::timeout_at(until, swaps.changed()).await.is_err() {
                return self.catalog(caller);
            }
        }
    }

    /// Returns the catalog, after waiting like [`Self::settled_catalog`] if it lacks this tool.
    pub(super) async fn catalog_with(&self, caller: &Arc<Caller>, tool: &str) -> Arc<Catalog> {
        let catalog = self.catalog(caller);
        if catalog.get(tool).is_some() { catalog } else { self.settled_catalog(caller).await }
    }

    /// Returns the instructions for a client, given its `clientInfo.name`.
    pub(super) fn instructions(&self, caller: &Arc<Caller>, client: Option<&str>) -> Option<String> {
        let state = self.state.load();
        let view = state.view(caller);
        state.instructions(&view, client_table::surface(&view.catalog, client))
    }

    /// Records that every list was declared. Lists that the preset lacks are served as empty.
    pub(super) fn promise_all(&self) {
        self.promised_all.store(true, Ordering::Relaxed);
    }

    /// True if clients may request lists that the preset does not have.
    pub(super) fn has_promised_all(&self) -> bool {
        self.promised_all.load(Ordering::Relaxed)
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.swaps.subscribe()
    }

    /// Swaps in a new view. Returns true if any list changed, or if other access rules may have changed one.
    fn swap(&self, view: PresetView, rules: &Arc<AccessRules>) -> bool {
        let now = PresetState::new(view, rules);
        let before = self.state.swap(Arc::clone(&now));
        self.swaps.send_modify(|swaps| *swaps += 1);
        let mut changed = before.full.changed_lists(&now.full);
        if !Arc::ptr_eq(&before.rules, &now.rules)
            && (before.rules.are_enforced() || now.rules.are_enforced())
        {
            changed = ListKind::ALL.into();
        }
        if changed.is_empty() {
            return false;
        }
        // Nobody learns that something changed which it cannot see.
        let changed_for = |caller: &Arc<Caller>| before.view(caller).changed_lists(&now.view(caller));
        self.clients.notify_clients(now.full.catalog.generation, &changed, changed_for);
        true
    }

    /// Empties a removed preset for clients that are still connected.
    fn retire(&self, preset: &str, rules: &Arc<AccessRules>) {
        if let Ok(catalog) = empty(preset) {
            let instructions = self.state.load().writer.clone();
            self.swap(PresetView { catalog, instructions }, rules);
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
    rules: &Arc<AccessRules>,
    clients_changed: &ClientsChanged,
) -> BTreeMap<String, PresetResult> {
    let served = |view| Arc::new(ServedPreset::new(view, rules, clients_changed));
    presets.into_iter().map(|(name, view)| (name, view.map(served))).collect()
}

/// All served presets and their shared state.
pub struct ServedPresets {
    pub(super) pipeline: Arc<Pipeline>,
    /// Calls of all presets that wait for answers.
    pub(super) open_questions: Arc<OpenQuestions>,
    pub(super) paused_calls: Arc<PausedCalls>,
    pub(super) tasks: Arc<TaskStore>,
    pub(super) shutdown: Arc<Shutdown>,
    pub(super) default: Arc<ServedPreset>,
    presets: ArcSwap<BTreeMap<String, PresetResult>>,
    pub(super) unserved: ArcSwap<BTreeMap<Option<String>, String>>,
    rules: ArcSwap<AccessRules>,
    /// Cancelled once the presets are composed.
    pub(super) composed: CancellationToken,
    clients_changed: ClientsChanged,
    pub(super) connected_clients: Arc<ConnectedClients>,
}

impl ServedPresets {
    /// Serves `default` to clients that do not name a preset, and `presets` by name over HTTP. An error is the reason
    /// why a preset cannot be served.
    pub fn new(
        pipeline: Pipeline,
        default: PresetView,
        presets: BTreeMap<String, Result<PresetView, String>>,
    ) -> Self {
        let (clients_changed, rules) = (ClientsChanged::default(), Arc::default());
        let default = Arc::new(ServedPreset::new(default, &rules, &clients_changed));
        let presets = serve_all(presets, &rules, &clients_changed);
        let composed = CancellationToken::new();
        composed.cancel();
        Self {
            composed,
            pipeline: Arc::new(pipeline),
            open_questions: Arc::default(),
            paused_calls: Arc::default(),
            tasks: Arc::default(),
            shutdown: Arc::default(),
            default,
            presets: ArcSwap::from_pointee(presets),
            unserved: ArcSwap::default(),
            rules: ArcSwap::new(rules),
            clients_changed,
            connected_clients: Arc::default(),
        }
    }

    /// Creates presets that are still being composed. Clients can connect, receive `instructions`, and are recorded in
    /// `connected_clients`; their other requests wait for [`ServedPresets::begin`].
    pub fn starting(
        pipeline: Pipeline,
        preset: &str,
        instructions: Option<String>,
        connected_clients: Arc<ConnectedClients>,
    ) -> Result<Self, CatalogError> {
        let instructions =
            instructions.map(|text| -> InstructionsWriter { Arc::new(move |_, _| Some(text.clone())) });
        let view = PresetView { catalog: empty(preset)?, instructions };
        let (composed, ready) = (CancellationToken::new(), Self::new(pipeline, view, BTreeMap::new()));
        Ok(Self { composed, connected_clients, ..ready })
    }

    /// Sets the first presets after [`ServedPresets::starting`], and the access rules of their callers.
    pub fn begin(&self, views: PresetViews, rules: &Arc<AccessRules>) {
        self.rules.store(Arc::clone(rules));
        self.presets.store(Arc::new(serve_all(views.presets, rules, &self.clients_changed)));
        self.unserved.store(Arc::new(views.unserved));
        // No client has a list yet.
        self.default.state.store(PresetState::new(views.default, rules));
        self.composed.cancel();
    }

    /// Replaces all presets and the access rules. Running calls finish with their old catalog.
    ///
    /// Returns the presets whose clients were notified. `None` is the default preset.
    pub fn swap(&self, views: PresetViews, rules: &Arc<AccessRules>) -> Vec<Option<String>> {
        let mut notified = Vec::new();
        self.rules.store(Arc::clone(rules));
        self.unserved.store(Arc::new(views.unserved));
        if self.default.swap(views.default, rules) {
            notified.push(None);
        }
        let before = self.presets.load_full();
        let mut now = BTreeMap::new();
        for (name, view) in views.presets {
            let named = match (view, before.get(&name)) {
                (Ok(view), Some(Ok(served))) => {
                    if served.swap(view, rules) {
                        notified.push(Some(name.clone()));
                    }
                    Ok(Arc::clone(served))
                }
                (Ok(view), _) => Ok(Arc::new(ServedPreset::new(view, rules, &self.clients_changed))),
                (Err(reason), _) => Err(reason),
            };
            now.insert(name, named);
        }
        self.presets.store(Arc::new(now));
        for (name, served) in before.iter().filter_map(|(name, served)| Some((name, served.as_ref().ok()?))) {
            if !matches!(self.presets.load().get(name), Some(Ok(_))) {
                served.retire(name, rules);
                notified.push(Some(name.clone()));
            }
        }
        notified
    }

    pub fn access_rules(&self) -> Arc<AccessRules> {
        self.rules.load_full()
    }

    /// Returns how many presets are served, and how many cannot be.
    pub fn counts(&self) -> (usize, usize) {
        let presets = self.presets();
        let served = presets.values().filter(|preset| preset.is_ok()).count();
        (served, presets.len() - served)
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
