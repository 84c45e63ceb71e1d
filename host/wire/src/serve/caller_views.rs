//! Views of a preset: the part that each caller sees. Callers with the same access share one.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, OnceLock},
};

use ::http::StatusCode;
use gatehouse_core::{
    Caller, Catalog,
    access::{AccessRules, CallerAccess},
    lock, names,
    surface::ToolSurface,
};

use super::{PresetView, ServedPreset, ServedPresets, lists::ListKind};

/// Writes the instructions of a preset for a catalog, which names only what the caller may use, and for the tools that
/// the client lists.
pub type InstructionsWriter = Arc<dyn Fn(&Catalog, ToolSurface) -> Option<String> + Send + Sync>;

/// Maximum views of one preset, and maximum tools in all of them. Above it, they are built again.
const MAX_VIEWS: usize = 256;
const MAX_VIEWED_TOOLS: usize = 1_000_000;

/// A preset as some callers see it.
pub(super) struct CallerView {
    pub(super) catalog: Arc<Catalog>,
    /// Instructions for each [`ToolSurface`].
    instructions: [OnceLock<Option<String>>; 3],
    /// Digests of the lists, in the order of [`ListKind::ALL`].
    lists: OnceLock<[u64; 3]>,
}

impl CallerView {
    fn new(catalog: Catalog) -> Arc<Self> {
        Arc::new(Self {
            catalog: Arc::new(catalog),
            instructions: Default::default(),
            lists: OnceLock::new(),
        })
    }

    /// Returns the lists that differ in `now`.
    pub(super) fn changed_lists(&self, now: &Self) -> Vec<ListKind> {
        let (before, now) = (self.digests(), now.digests());
        ListKind::ALL.into_iter().filter(|list| before[*list as usize] != now[*list as usize]).collect()
    }

    fn digests(&self) -> &[u64; 3] {
        self.lists.get_or_init(|| {
            ListKind::ALL.map(|list| {
                let mut digest = DefaultHasher::new();
                list.bytes(&self.catalog).hash(&mut digest);
                digest.finish()
            })
        })
    }
}

type SharedView = Arc<OnceLock<Arc<CallerView>>>;

/// A composed preset with its access rules, and the views of it.
pub(super) struct PresetState {
    pub(super) full: Arc<CallerView>,
    pub(super) rules: Arc<AccessRules>,
    pub(super) writer: Option<InstructionsWriter>,
    /// Views by the [number](CallerAccess::number) of the access.
    restricted: Mutex<HashMap<u64, SharedView>>,
}

impl PresetState {
    pub(super) fn new(
        PresetView { catalog, instructions }: PresetView,
        rules: &Arc<AccessRules>,
    ) -> Arc<Self> {
        let (full, rules) = (CallerView::new(catalog), Arc::clone(rules));
        Arc::new(Self { full, rules, writer: instructions, restricted: Mutex::default() })
    }

    pub(super) fn view(&self, caller: &Arc<Caller>) -> Arc<CallerView> {
        let access = self.rules.access_of(caller);
        if access.is_full() && access.opens_preset(&self.full.catalog.preset) {
            return Arc::clone(&self.full);
        }
        let shared = self.shared_view(&access);
        Arc::clone(shared.get_or_init(|| CallerView::new(self.full.catalog.restricted(&access))))
    }

    fn shared_view(&self, access: &CallerAccess) -> SharedView {
        let mut views = lock(&self.restricted);
        if let Some(cached_view) = views.get(&access.number()) {
            return Arc::clone(cached_view);
        }
        let tools = views.values().filter_map(|view| view.get());
        let tools: usize = tools.map(|view| view.catalog.entries().len()).sum();
        if views.len() >= MAX_VIEWS || tools >= MAX_VIEWED_TOOLS {
            views.clear();
        }
        let view = SharedView::default();
        views.insert(access.number(), Arc::clone(&view));
        view
    }

    pub(super) fn instructions(&self, view: &CallerView, surface: ToolSurface) -> Option<String> {
        let writer = self.writer.as_ref()?;
        view.instructions[surface as usize].get_or_init(|| writer(&view.catalog, surface)).clone()
    }
}

/// Reason that a caller cannot use a preset, in words for the caller.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PresetRefusal {
    pub(super) status: StatusCode,
    pub(super) reason: String,
}

impl ServedPresets {
    /// Returns a preset for a caller; `None` is the default preset.
    pub(super) fn find(
        &self,
        preset: Option<&str>,
        caller: &Arc<Caller>,
    ) -> Result<Arc<ServedPreset>, PresetRefusal> {
        let access = self.access_rules().access_of(caller);
        let presets = self.presets();
        let refused = |status, reason| Err(PresetRefusal { status, reason });
        let open_presets = || presets.keys().map(String::as_str).filter(|preset| access.opens_preset(preset));
        let unserved = self.unserved.load();
        // Lines that the file lacks are for those who may see all of it.
        let advice = |preset: Option<&str>| {
            let may_know = access.is_full() && access.opens_preset(preset.unwrap_or_default());
            let advice = unserved.get(&preset.map(str::to_owned)).filter(|_| may_know);
            advice.map(|advice| format!(" {advice}")).unwrap_or_default()
        };
        let Some(preset) = preset else {
            let has_default = !unserved.contains_key(&None);
            if has_default && access.opens_preset(&self.default.full_catalog().preset) {
                return Ok(Arc::clone(&self.default));
            }
            let open: Vec<String> = open_presets().map(|preset| format!("/mcp/p/{preset}")).collect();
            let connect = if open.is_empty() { "" } else { &format!(" Connect to: {}.", open.join(", ")) };
            return match (open.is_empty() && !access.is_full(), has_default) {
                (true, _) => {
                    let reason = "your credential opens no preset of this host. Ask its operator for access.";
                    refused(StatusCode::FORBIDDEN, reason.into())
                }
                (false, true) => {
                    let reason = "your credential does not open the default preset.";
                    refused(StatusCode::FORBIDDEN, format!("{reason}{connect}"))
                }
                (false, false) => {
                    let reason = format!("this host has no default preset.{connect}{}", advice(None));
                    refused(StatusCode::NOT_FOUND, reason)
                }
            };
        };
        match presets.get(preset).filter(|_| access.opens_preset(preset)) {
            Some(Ok(served)) => Ok(Arc::clone(served)),
            // The reason may name tools and files that this caller must not know.
            Some(Err(_)) if !access.is_full() => {
                refused(StatusCode::SERVICE_UNAVAILABLE, format!("cannot serve preset '{preset}' now"))
            }
            Some(Err(reason)) => {
                refused(StatusCode::SERVICE_UNAVAILABLE, format!("cannot serve preset '{preset}': {reason}"))
            }
            None => {
                let suggestion = names::did_you_mean(preset, open_presets());
                let (quoted_preset, preset_list) =
                    (names::quoted(preset, 64), open_presets().collect::<Vec<_>>().join(", "));
                let preset_list = if preset_list.is_empty() { "none" } else { &preset_list };
                let advice = advice(Some(preset));
                let suggestion = if advice.is_empty() { suggestion } else { String::new() };
                let reason = format!(
                    "unknown preset '{quoted_preset}'.{suggestion} There are: {preset_list}.{advice}"
                );
                refused(StatusCode::NOT_FOUND, reason)
            }
        }
    }
}

#[cfg(test)]
mod tests;
