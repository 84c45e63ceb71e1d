//! Where the configuration and the data are.

use std::{
    fs,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

use super::{ConfigError, Env, error::Text};

/// The shipped presets, for hosts that have no file of their own.
const BUILT_IN: &str = include_str!("../../../../presets.toml");

/// `--config FILE`, else ./presets.toml, else the one in the XDG configuration home, else the built-in
/// copy. A file that is named must be there; one that is found must be readable.
pub(crate) fn read(named: Option<&Path>) -> Result<Text, ConfigError> {
    let found = named.map(Path::to_path_buf).or_else(|| {
        let user = base().map(|dirs| dirs.config_dir().join("gatehouse/presets.toml"));
        [Some(PathBuf::from("presets.toml")), user].into_iter().flatten().find(|path| path.exists())
    });
    let Some(path) = found else {
        return Ok(Text { file: None, content: BUILT_IN.into() });
    };
    let failed = |cause: std::io::Error| ConfigError {
        place: path.display().to_string(),
        message: format!("cannot be read: {cause}"),
    };
    let content = fs::read_to_string(&path).map_err(failed)?;
    let file = path.canonicalize().map_err(failed)?;
    Ok(Text { file: Some(file), content })
}

/// The data folder where nothing else is said.
pub(crate) fn data_home() -> PathBuf {
    base().map_or_else(|| PathBuf::from(".gatehouse"), |dirs| dirs.data_dir().join("gatehouse"))
}

/// The folder of what can be made again: gatehouse in the XDG cache home. Hosts with other data folders share
/// it.
pub(crate) fn cache_home() -> PathBuf {
    base().map_or_else(|| data_home().join("cache"), |dirs| dirs.cache_dir().join("gatehouse"))
}

/// The user's home folder.
pub(crate) fn home() -> Option<PathBuf> {
    etcetera::home_dir().ok()
}

/// The data folder where the configuration is broken: what the file says of it, if it says so in TOML.
pub(crate) fn data_folder(named: Option<&Path>, env: &Env) -> PathBuf {
    let from_file = || {
        let text = read(named).ok()?;
        let table: toml::Table = text.content.parse().ok()?;
        Some(text.file?.parent()?.join(table.get("host")?.get("state")?.as_str()?))
    };
    let from_env = || env.state().and_then(|path| std::path::absolute(path).ok());
    from_env().or_else(from_file).unwrap_or_else(data_home)
}

fn base() -> Option<impl BaseStrategy> {
    etcetera::choose_base_strategy().ok()
}
