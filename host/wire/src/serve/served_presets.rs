//! What is served, and how it changes while clients are connected: a reload hands over new catalogs, the
//! swap is one pointer, and clients are told only where the bytes of their lists became others.

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

use super::{
    clients::{ClientInfo, PresetClients},
    lists::ListKind,
    paused_calls::PausedCalls,
    server_requests::OpenQuestions,
    shutdown::Shutdown,
};

/// One preset as it is to be served from now on.
pub struct PresetView {
    /// What may be called.
    pub catalog: Catalog,
    /// What the client's model is told when it connects.
    pub instructions: Option<String>,
}

/// A preset that is served. Its clients keep it while what is in it changes.
pub struct ServedPreset {
    catalog: ArcSwap<Catalog>,
    instructions: Mutex<Option<String>>,
    /// True once a client was answered before the preset was composed, and was told of every list.
    promised_all: AtomicBool,
    /// Counts the changes that clients were told of, by [`ListKind`].
    changes: watch::Sender<[u64; 3]>,
    /// Counts the catalogs that were put in place.
    swaps: watch::Sender<u64>,
    pub(super) clients: PresetClients,
}

impl ServedPreset {
    fn new(view: PresetView, news: &ClientsChanged) -> Self {
        Self {
            catalog: ArcSwap::from_pointee(view.catalog),
            instructions: Mutex::new(view.instructions),
            promised_all: AtomicBool::new(false),
            changes: watch::Sender::default(),
            swaps: watch::Sender::default(),
            clients: PresetClients::new(news.clone()),
        }
    }

    /// What may be called now. A call keeps what it got here to its end.
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Returns what may be called, after waiting a few seconds for servers that are about to list something for the first time.
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

    /// Returns what may be called, after waiting as [`Self::settled_catalog`] does if it lacks this tool.
    pub(super) async fn catalog_with(&self, tool: &str) -> Arc<Catalog> {
        let catalog = self.catalog();
        if catalog.get(tool).is_some() { catalog } else { self.settled_catalog().await }
    }

    pub(super) fn instructions(&self) -> Option<String> {
        lock(&self.instructions).clone()
    }

    /// Notes that a client was told of every list, whether the preset will have it or not: it is empty then.
    pub(super) fn promise_all(&self) {
        self.promised_all.store(true, Ordering::Relaxed);
    }

    /// True if clients may ask for lists that the preset does not have.
    pub(super) fn has_promised_all(&self) -> bool {
        self.promised_all.load(Ordering::Relaxed)
    }

    /// Wakes whenever the client has to be told.
    pub(super) fn changes(&self) -> watch::Receiver<[u64; 3]> {
        self.changes.subscribe()
    }

    /// Puts the first view in place. No client has a list yet.
    fn begin(&self, view: PresetView) {
        *lock(&self.instructions) = view.instructions;
        self.catalog.store(Arc::new(view.catalog));
    }

    /// Puts the new view in place. True where the client sees another list than before.
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

    /// The preset is gone: who is still connected sees no tool any more.
    fn retire(&self, preset: &str) {
        if let Ok(catalog) = empty(preset) {
            self.swap(PresetView { catalog, instructions: self.instructions() });
        }
    }
}

/// The catalog of a preset without any source.
fn empty(preset: &str) -> Result<Catalog, CatalogError> {
    Catalog::build(&CompiledPreset::from_sources(preset, Vec::new()), Vec::new())
}

/// Wakes whoever reports on clients.
pub(super) type ClientsChanged = watch::Sender<()>;

/// A preset, or why it cannot be served.
type PresetResult = Result<Arc<ServedPreset>, String>;

/// Everything clients can reach.
pub struct ServedPresets {
    pub(super) pipeline: Arc<Pipeline>,
    /// Calls that wait for answers, whoever they were asked for.
    pub(super) open_questions: Arc<OpenQuestions>,
    pub(super) parked: Arc<PausedCalls>,
    pub(super) shutdown: Arc<Shutdown>,
    /// What clients get that name no preset.
    pub(super) default: Arc<ServedPreset>,
    presets: ArcSwap<BTreeMap<String, PresetResult>>,
    /// Cancelled once there is something to serve.
    pub(super) composed: CancellationToken,
    news: ClientsChanged,
}

impl ServedPresets {
    /// `default` is what clients get that name no preset, `presets` are those that HTTP serves by name; one
    /// that cannot be served says why.
    pub fn new(
        pipeline: Pipeline,
        default: PresetView,
        presets: BTreeMap<String, Result<PresetView, String>>,
    ) -> Self {
        let news = ClientsChanged::default();
        let served = |view| Arc::new(ServedPreset::new(view, &news));
        let presets = presets.into_iter().map(|(name, view)| (name, view.map(served))).collect();
        let default = served(default);
        let composed = CancellationToken::new();
        composed.cancel();
        Self {
            composed,
            pipeline: Arc::new(pipeline),
            open_questions: Arc::default(),
            parked: Arc::default(),
            shutdown: Arc::default(),
            default,
            presets: ArcSwap::from_pointee(presets),
            news,
        }
    }

    /// Presets that are still being composed. Clients get an answer, with these instructions; what they ask for waits until
    /// [`ServedPresets::begin`].
    pub fn starting(
        pipeline: Pipeline,
        preset: &str,
        instructions: Option<String>,
    ) -> Result<Self, CatalogError> {
        let view = PresetView { catalog: empty(preset)?, instructions };
        let composed = CancellationToken::new();
        Ok(Self { composed, ..Self::new(pipeline, view, BTreeMap::new()) })
    }

    /// Serves these, which are the first ones.
    pub fn begin(&self, default: PresetView, presets: BTreeMap<String, Result<PresetView, String>>) {
        let served = |view| Arc::new(ServedPreset::new(view, &self.news));
        let presets = presets.into_iter().map(|(name, view)| (name, view.map(served))).collect();
        self.presets.store(Arc::new(presets));
        self.default.begin(default);
        self.composed.cancel();
    }

    /// Serves these from now on, in place of what was served. Calls that run end under what they began
    /// with. Gives the presets whose clients were told of another list; the default one has no name.
    pub fn swap(
        &self,
        default: PresetView,
        presets: BTreeMap<String, Result<PresetView, String>>,
    ) -> Vec<Option<String>> {
        let mut told = Vec::new();
        if self.default.swap(default) {
            told.push(None);
        }
        let before = self.presets.load_full();
        let mut now = BTreeMap::new();
        for (name, view) in presets {
            let named = match (view, before.get(&name)) {
                (Ok(view), Some(Ok(served))) => {
                    if served.swap(view) {
                        told.push(Some(name.clone()));
                    }
                    Ok(Arc::clone(served))
                }
                (Ok(view), _) => Ok(Arc::new(ServedPreset::new(view, &self.news))),
                (Err(why), _) => Err(why),
            };
            now.insert(name, named);
        }
        self.presets.store(Arc::new(now));
        for (name, served) in before.iter().filter_map(|(name, served)| Some((name, served.as_ref().ok()?))) {
            if !matches!(self.presets.load().get(name), Some(Ok(_))) {
                served.retire(name);
                told.push(Some(name.clone()));
            }
        }
        told
    }

    /// The presets that are served by name.
    pub(super) fn presets(&self) -> Arc<BTreeMap<String, PresetResult>> {
        self.presets.load_full()
    }

    /// Who is connected, was told of changes and has listed since.
    pub fn clients(&self) -> Vec<ClientInfo> {
        let mut clients = self.default.clients.infos();
        for served in self.presets.load().values().filter_map(|served| served.as_ref().ok()) {
            clients.extend(served.clients.infos());
        }
        clients
    }

    /// Wakes when [`ServedPresets::clients`] has something new to say.
    pub fn client_changes(&self) -> watch::Receiver<()> {
        self.news.subscribe()
    }
}
