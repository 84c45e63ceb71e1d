//! The validated configuration: absolute paths, known grants, limits in range. Gates check their own parameters when
//! they are loaded.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    path::{Path, PathBuf},
};

use gatehouse_auth::AuthSettings;
use gatehouse_core::{Preset, quota::QuotaRule};
use gatehouse_models::ModelsConfig;
use gatehouse_wire::serve::HttpSettings;

use super::{
    AccessConfig, ArtifactsConfig, AuditConfig, ConfigError, ConfigText, DocumentsConfig, Env,
    KnowledgeConfig, LedgerConfig, SummarySettings, access, auth,
    gates::{self, GateConfig},
    http_server, limits, listen_address, locate,
    locate::ConfigChoice,
    models,
    preset_files::{self, ParamFiles, SkillFolders},
    presets, raw,
    servers::{self, ServersConfig},
    shipped,
};
use crate::built_in;

/// Preset for clients that name none, if the file does not set one.
const DEFAULT_PRESET: &str = "full";

/// Validated settings from `presets.toml` and the environment.
#[derive(Debug)]
pub(crate) struct Config {
    /// `None` for the built-in copy.
    pub(crate) file: Option<PathBuf>,
    pub(crate) choice: ConfigChoice,
    /// Content of the file. `None` for the built-in copy.
    pub(crate) text: Option<String>,
    pub(crate) gate_folders: Vec<PathBuf>,
    /// True if `host.gates` is set.
    pub(crate) lists_gates: bool,
    /// The default gate directory, if `host.gates` is not set. It need not exist.
    pub(crate) default_gate_folder: Option<PathBuf>,
    pub(crate) state: PathBuf,
    /// The data directory that the file sets.
    pub(crate) state_in_file: Option<PathBuf>,
    /// The cache directory, absolute. Everything in it can be rebuilt.
    pub(crate) cache: PathBuf,
    /// Limit for compiled gates in `cache`, in bytes.
    pub(crate) cache_size: u64,
    pub(crate) default_preset: String,
    pub(crate) http: HttpSettings,
    /// Address of the listener for operators.
    pub(crate) admin: Option<SocketAddr>,
    /// `None` without `[auth]`: then the host distinguishes no callers.
    pub(crate) auth: Option<AuthSettings>,
    pub(crate) access: AccessConfig,
    pub(crate) models: ModelsConfig,
    pub(crate) knowledge: KnowledgeConfig,
    pub(crate) documents: DocumentsConfig,
    pub(crate) artifacts: ArtifactsConfig,
    pub(crate) intelligence: SummarySettings,
    pub(crate) ledger: LedgerConfig,
    pub(crate) audit: AuditConfig,
    pub(crate) quotas: Vec<QuotaRule>,
    pub(crate) servers: ServersConfig,
    /// Gates with a block in the file, and shipped ones.
    pub(crate) gates: BTreeMap<String, GateConfig>,
    /// Presets by name: those of the file, and shipped ones with other names.
    pub(crate) presets: BTreeMap<String, Preset>,
    /// Names of the presets in the file. Empty for the built-in copy.
    pub(super) own_presets: BTreeSet<String>,
    /// True if `host.default_preset` is set.
    pub(super) sets_default_preset: bool,
    /// Whether the desktop shows that a call waits for an approval.
    pub(crate) desktop_notifications: bool,
    /// Shipped presets that the file serves over HTTP.
    pub(super) shipped_presets: BTreeSet<String>,
    /// Files whose text is inserted into preset parameters.
    pub(crate) param_files: ParamFiles,
    /// Folders of skills of all presets.
    pub(crate) skill_folders: SkillFolders,
}

impl Config {
    /// Validates `text`. `gates` overrides the gate directories, `state` the data directory.
    pub(crate) fn from_text(
        text: &ConfigText,
        gates: Option<&Path>,
        state: Option<&Path>,
        env: &Env,
    ) -> Result<Self, ConfigError> {
        text.check_nesting()?;
        let raw: raw::RawConfig = toml::from_str(&text.content).map_err(|error| text.parse_error(&error))?;
        // Paths are relative to the file. For the built-in copy, they are relative to the data directory.
        let base = match &text.file {
            Some(file) => file.parent().unwrap_or(Path::new("/")).to_path_buf(),
            None => locate::data_home(),
        };
        let state_in_file = raw.host.state.as_ref().map(|path| base.join(path));
        let state = state
            .map(Path::to_path_buf)
            .or_else(|| env.get("GATEHOUSE_STATE").map(|path| absolute(path.as_ref())));
        let state = state.or_else(|| state_in_file.clone()).unwrap_or_else(locate::data_home);
        raw.check_gate_names(text)?;
        let servers = servers::validate(text, raw.servers, &raw.proxy, env)?;
        let mut param_files = ParamFiles::new();
        let mut presets: BTreeMap<String, Preset> = BTreeMap::new();
        for (name, preset) in raw.presets {
            let preset = presets::declared(text, preset, &servers, &mut param_files)?;
            presets.insert(name.into_inner(), preset);
        }
        let folders = presets.values().flat_map(|preset| &preset.skills);
        let skill_folders = folders.map(|folder| (folder.clone(), preset_files::digest(folder))).collect();
        let intelligence = SummarySettings::validate(env)?;
        let default = raw.host.default_preset.as_ref();
        let cache = locate::cache_home();
        let unnamed = text.file.is_none() || raw.host.gates.is_none();
        let audit = AuditConfig::validate(text, &raw.audit)?;
        let mut config = Self {
            file: text.file.clone(),
            choice: ConfigChoice::default(),
            text: text.file.as_ref().map(|_| text.content.clone()),
            lists_gates: raw.host.gates.is_some(),
            default_gate_folder: unnamed.then(|| base.join("gates")),
            gate_folders: match gates {
                Some(folder) => vec![absolute(folder)],
                None => built_in::folders(&base, raw.host.gates),
            },
            cache,
            cache_size: limits::disk_size(text, "cache_size", raw.host.cache_size.as_ref())?,
            own_presets: BTreeSet::new(),
            desktop_notifications: raw.host.desktop_notifications.unwrap_or(true),
            sets_default_preset: default.is_some(),
            shipped_presets: raw.host.shipped_presets.iter().map(|name| name.to_string()).collect(),
            default_preset: default.map_or(DEFAULT_PRESET, |name| name.as_str()).to_owned(),
            http: http_server::validate(text, &raw.http)?,
            admin: raw
                .admin
                .listen
                .as_ref()
                .map(|listen| text.at(listen, listen_address(listen)))
                .transpose()?,
            access: access::validate(text, &raw.access, raw.auth.is_some())?,
            auth: raw.auth.as_ref().map(|section| auth::validate(text, section, env)).transpose()?,
            models: models::validate(text, raw.models, env)?,
            knowledge: KnowledgeConfig::validate(raw.knowledge, &base, &state, env),
            documents: DocumentsConfig::validate(text, raw.documents, env)?,
            artifacts: ArtifactsConfig::validate(text, &raw.artifacts, &intelligence, env)?,
            ledger: LedgerConfig::validate(text, &raw.ledger, audit.is_on(raw.auth.is_some()))?,
            audit,
            quotas: limits::quotas(text, raw.quotas)?,
            intelligence,
            servers,
            gates: raw
                .gates
                .into_iter()
                .map(|(name, gate)| {
                    let checked = gates::validate(text, (&base, &state), &name, gate, env)?;
                    Ok((name.into_inner(), checked))
                })
                .collect::<Result<_, ConfigError>>()?,
            state,
            state_in_file,
            presets,
            param_files,
            skill_folders,
        };
        if config.file.is_some() {
            shipped::merge_shipped(&mut config, env)?;
        }
        presets::check(text, &config, raw.host.default_preset.as_ref())?;
        shipped::check(text, &raw.host.shipped_presets)?;
        Ok(config)
    }

    /// Returns the first gate directory that is not built in. New gates are written there.
    pub(crate) fn own_gate_folder(&self) -> Option<&PathBuf> {
        self.gate_folders.iter().find(|folder| !built_in::is_folder(folder))
    }

    /// Whether calls are recorded in the audit.
    pub(crate) fn audits(&self) -> bool {
        self.audit.is_on(self.auth.is_some())
    }

    pub(crate) fn parse(text: &ConfigText, env: &Env) -> Result<Self, ConfigError> {
        Self::from_text(text, None, None, env)
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use crate::config::{
        Env,
        tests::{assert_refused, parse},
    };

    #[test]
    fn the_shipped_file_is_valid_and_has_its_presets() {
        let config = parse(include_str!("../../../../presets.toml"), &Env::default()).expect("valid");
        let names = config.presets.keys().map(String::as_str).collect::<Vec<_>>().join(" ");
        let shipped = "code context documents full gateway ideation implementation merger proxy";
        assert_eq!(names, shipped);
        assert!(config.gate_folders.starts_with(&["/etc/gh/gates".into()]));
    }

    #[test]
    fn every_mistake_has_its_place_and_the_nearest_key() {
        let cases = [
            (
                "[host]\ngatez = []\n",
                "/etc/gh/presets.toml:2:1: unknown key 'gatez'. Did you mean 'gates'? Under [host] there are: gates, state, cache_size, default_preset, shipped_presets, desktop_notifications.",
            ),
            ("[gates.kg]\ngrants = [\"knowlege\"]", "/etc/gh/presets.toml:2:11: unknown grant 'knowlege'"),
            ("[gates.kg]\nlimits = { time = \"soon\" }", ":2:19: invalid duration 'soon'"),
            ("[gates.kg]\nsha256 = \"abc\"", ":2:10: 'abc' is not a SHA-256"),
            ("[knowledge]\nengine = \"sqlit\"", "Did you mean 'sqlite'?"),
            ("[presets.a]\ntop_k = 5", ":2:1: unknown key 'top_k'"),
            ("[presets.a]\nextends = [\"b\"]\n[presets.b]\nextends = [\"a\"]", "cycle: a -> b -> a"),
            (
                "[host]\ndefault_preset = \"ful\"\n[presets.full]",
                ":2:18: unknown preset 'ful'. Did you mean 'full'?",
            ),
            ("x = [", "/etc/gh/presets.toml:1:"),
            ("[presets.a]\ngates = 5", ":2:9:"),
        ];
        assert_refused("", &cases);
    }
}
