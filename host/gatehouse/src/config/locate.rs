//! Locations of the configuration, the data and the cache.
//!
//! Agents start inside cloned repositories, so a file found in the working directory is not used until the user names
//! or trusts it.

use std::{
    fmt, fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{ConfigError, ConfigText, Env, PlainError, trust::TrustedFiles};

/// The shipped presets: the configuration without a file, and the base of a file.
pub(super) const SHIPPED: &str = include_str!("../../../../presets.toml");

/// Name that selects the shipped presets instead of a file.
pub(crate) const BUILT_IN: &str = "built-in";

/// Name that selects the file in the configuration home, or the shipped presets while there is none.
pub(crate) const USER: &str = "user";

const CONFIG_FILE: &str = "presets.toml";

const PROJECT_MARKER: &str = ".git";

pub(super) const MAX_FILE: u64 = 4 << 20;

pub(crate) struct LocatedConfig {
    pub(crate) text: ConfigText,
    pub(crate) choice: ConfigChoice,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigChoice {
    /// True if it was chosen because its content is trusted. A change ends the trust.
    pub(crate) by_trust: bool,
    /// The nearest file of the project that is not used.
    pub(crate) ignored: Option<IgnoredFile>,
}

/// A `presets.toml` in the working directory or above that is not used.
#[derive(Debug, Clone)]
pub(crate) struct IgnoredFile {
    pub(crate) file: PathBuf,
    reason: PlainError,
    instead: String,
}

impl fmt::Display for IgnoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, reason, instead } = self;
        let file = file.display();
        write!(f, "{file} is not used: {reason}. {instead} used instead. ")?;
        write!(f, "To use it, read it and run `gatehouse trust {file}`, or name it with --config.")
    }
}

/// Reads the configuration: a named file, else the nearest trusted presets.toml in the working directory or above, else
/// the one in the XDG configuration home, else the built-in copy.
///
/// A named file must exist; the one in the configuration home must be readable.
pub(crate) fn read(named: Option<&Path>, env: &Env) -> Result<LocatedConfig, ConfigError> {
    if let Some(text) = explicit(named, env)? {
        return Ok(LocatedConfig { text, choice: ConfigChoice::default() });
    }
    let user_config = user_file();
    let working = std::env::current_dir().and_then(fs::canonicalize);
    let (trusted, untrusted) =
        working.map(|folder| nearest_trusted(&folder, user_config.as_deref())).unwrap_or_default();
    let by_trust = trusted.is_some();
    let text = match trusted {
        Some(text) => text,
        None => read_named(user_config.as_deref().unwrap_or(Path::new(BUILT_IN)), "")?,
    };
    let instead = match &text.file {
        Some(file) => format!("{} is", file.display()),
        None => "The built-in presets are".to_owned(),
    };
    let ignored = untrusted.map(|(file, reason)| IgnoredFile { file, reason, instead });
    Ok(LocatedConfig { text, choice: ConfigChoice { by_trust, ignored } })
}

/// Returns the nearest trusted file in `folder` or above, and the nearest one of the project before it that is not
/// trusted, with the reason. Skips the file `user_config`.
fn nearest_trusted(
    folder: &Path,
    user_config: Option<&Path>,
) -> (Option<ConfigText>, Option<(PathBuf, PlainError)>) {
    let mut untrusted = None;
    for (file, of_project) in local_files(folder) {
        if user_config.is_some_and(|path| path.canonicalize().is_ok_and(|path| path == file)) {
            continue;
        }
        match trusted(&file) {
            Ok(content) => return (Some(ConfigText { file: Some(file), content }), untrusted),
            // The shipped file would change nothing.
            Err(_) if read_bounded(&file).is_ok_and(|content| content == SHIPPED.as_bytes()) => {}
            Err(reason) if of_project && untrusted.is_none() => untrusted = Some((file, reason)),
            Err(_) => {}
        }
    }
    (None, untrusted)
}

/// Reads the configuration for a command that writes to a project: a named file, else the nearest trusted presets.toml
/// in `folder` (canonical) or above.
///
/// An untrusted file of the project is an error, so that the command does not write elsewhere.
pub(crate) fn read_for_project(
    named: Option<&Path>,
    folder: &Path,
    env: &Env,
) -> Result<LocatedConfig, ConfigError> {
    if let Some(text) = explicit(named, env)? {
        return Ok(LocatedConfig { text, choice: ConfigChoice::default() });
    }
    match nearest_trusted(folder, None) {
        (Some(text), None) => {
            Ok(LocatedConfig { text, choice: ConfigChoice { by_trust: true, ignored: None } })
        }
        (_, Some((file, reason))) => {
            let place = file.display();
            let message =
                format!("{reason}; read it and run `gatehouse trust {place}`, or name a file with --config");
            Err(ConfigError::new(place, message))
        }
        (None, None) => {
            let message = "the project has no presets.toml, which sets the destination of its gate; create one, or \
                name a file with --config";
            Err(ConfigError::new(folder.display(), message))
        }
    }
}

fn explicit(named: Option<&Path>, env: &Env) -> Result<Option<ConfigText>, ConfigError> {
    match (named, env.get("GATEHOUSE_CONFIG").map(Path::new)) {
        (Some(path), _) => read_named(path, "").map(Some),
        (None, Some(path)) => read_named(path, "; the path is set in GATEHOUSE_CONFIG").map(Some),
        (None, None) => Ok(None),
    }
}

/// Returns the configuration files in `folder` and above, nearest first, each with whether it is part of the project.
fn local_files(folder: &Path) -> Vec<(PathBuf, bool)> {
    let top = levels_to_top(folder);
    let files =
        folder.ancestors().enumerate().map(|(above, folder)| (folder.join(CONFIG_FILE), above <= top));
    files.filter_map(|(file, of_project)| Some((file.canonicalize().ok()?, of_project))).collect()
}

/// Returns the working directory and its ancestors up to the repository root, or only the working directory without a
/// repository.
pub(crate) fn project() -> Vec<PathBuf> {
    let Ok(working) = std::env::current_dir().and_then(fs::canonicalize) else { return Vec::new() };
    working.ancestors().take(levels_to_top(&working) + 1).map(Path::to_path_buf).collect()
}

/// Returns the number of levels from `folder` to the repository root, or 0 without a repository.
fn levels_to_top(folder: &Path) -> usize {
    folder.ancestors().position(|folder| folder.join(PROJECT_MARKER).exists()).unwrap_or(0)
}

/// Returns the configuration directory of the user.
pub(crate) fn config_home() -> Option<PathBuf> {
    base().map(|dirs| dirs.config_dir().join("gatehouse"))
}

/// Returns the `presets.toml` of the configuration home, if there is one.
pub(crate) fn user_file() -> Option<PathBuf> {
    config_home().map(|folder| folder.join(CONFIG_FILE)).filter(|path| path.exists())
}

fn read_named(path: &Path, who: &str) -> Result<ConfigText, ConfigError> {
    if path == Path::new(USER) {
        return read_named(user_file().as_deref().unwrap_or(Path::new(BUILT_IN)), who);
    }
    if path == Path::new(BUILT_IN) {
        return Ok(ConfigText { file: None, content: SHIPPED.into() });
    }
    let failed = |cause: io::Error| ConfigError::new(path.display(), format!("cannot be read: {cause}{who}"));
    let content = fs::read_to_string(path).map_err(failed)?;
    let file = path.canonicalize().map_err(failed)?;
    Ok(ConfigText { file: Some(file), content })
}

/// Returns the content of `file` if it is trusted, else the reason it is not used. Reads the file only once.
fn trusted(file: &Path) -> Result<String, PlainError> {
    let content = read_bounded(file).map_err(|error| format!("it cannot be read: {error}"))?;
    match TrustedFiles::read()?.trusts(file, &content) {
        Some(true) => String::from_utf8(content).map_err(|_| "it is not text".into()),
        Some(false) => Err("it has changed since it was trusted".into()),
        None => Err("it is not trusted".into()),
    }
}

/// Reads a regular file of at most [`MAX_FILE`] bytes. Other files could be a pipe or endless.
pub(crate) fn read_bounded(file: &Path) -> io::Result<Vec<u8>> {
    let about = fs::metadata(file)?;
    if !about.is_file() || about.len() > MAX_FILE {
        return Err(io::Error::other("it is not a file of at most 4 MiB"));
    }
    let mut content = Vec::new();
    fs::File::open(file)?.take(MAX_FILE).read_to_end(&mut content)?;
    Ok(content)
}

pub(crate) fn data_home() -> PathBuf {
    user_data().unwrap_or_else(|| PathBuf::from(".gatehouse"))
}

/// Returns the user's data directory, regardless of configuration and environment.
pub(super) fn user_data() -> Option<PathBuf> {
    base().map(|dirs| dirs.data_dir().join("gatehouse"))
}

/// Returns the cache directory. Hosts with other data directories share it.
pub(crate) fn cache_home() -> PathBuf {
    base().map_or_else(|| data_home().join("cache"), |dirs| dirs.cache_dir().join("gatehouse"))
}

pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

/// Returns the data directory even if the configuration is invalid, as long as it parses as TOML.
pub(crate) fn data_folder(named: Option<&Path>, env: &Env) -> PathBuf {
    let from_file = || {
        let text = read(named, env).ok()?.text;
        let table: toml::Table = text.content.parse().ok()?;
        Some(text.file?.parent()?.join(table.get("host")?.get("state")?.as_str()?))
    };
    let from_env = || std::path::absolute(env.get("GATEHOUSE_STATE")?).ok();
    from_env().or_else(from_file).unwrap_or_else(data_home)
}

fn base() -> Option<impl BaseStrategy> {
    etcetera::choose_base_strategy().ok()
}
