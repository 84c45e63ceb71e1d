//! Options that select the configuration and gates of a command, and the stores that the command opened.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use clap::Args;
use gatehouse_core::lock;
use gatehouse_sandbox::parse_duration;

use crate::{
    archive,
    compose::{Composition, HostStores},
    config::{
        Config, ConfigError, Env,
        locate::{self, LocatedConfig},
    },
    data_owner, out,
};

/// Options that select configuration and gates.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// Configuration file; `built-in` is the shipped one, `user` the one in the XDG config home, or built-in while there
    /// is none [default: GATEHOUSE_CONFIG, else a trusted presets.toml in this directory or above, else user]
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Directory with gates, in place of the configured ones
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) gates: Option<PathBuf>,
    /// Maximum wait for MCP servers that were never listed, for example "30 s"; "0 s" starts none
    #[arg(long, global = true, value_name = "TIME", default_value = "2 min", value_parser = parse_duration,
          help_heading = "Global options")]
    wait: Duration,
    #[arg(skip)]
    stores: Mutex<Vec<HostStores>>,
}

impl GlobalArgs {
    /// Returns the same options with stores of their own, which do not wait for servers.
    pub(crate) fn for_dashboard(&self) -> Self {
        let (config, gates) = (self.config.clone(), self.gates.clone());
        Self { config, gates, wait: Duration::ZERO, stores: Mutex::default() }
    }

    pub(crate) fn config(&self, env: &Env) -> Result<Config, ConfigError> {
        self.check(self.locate_config(env)?, env)
    }

    fn check(&self, found: LocatedConfig, env: &Env) -> Result<Config, ConfigError> {
        let mut config = Config::from_text(&found.text, self.gates.as_deref(), None, env)?;
        config.choice = found.choice;
        data_owner::check(&config.state, config.file.as_deref())?;
        // Complete an interrupted restore before any code reads the data.
        archive::finish(&config.state).map_err(|reason| ConfigError::new(config.state.display(), reason))?;
        Ok(config)
    }

    /// Finds and reads the configuration. Warns if a file was ignored.
    pub(crate) fn locate_config(&self, env: &Env) -> Result<LocatedConfig, ConfigError> {
        let located_config = locate::read(self.config.as_deref(), env)?;
        if let Some(ignored) = &located_config.choice.ignored {
            out::warn(ignored.to_string());
        }
        Ok(located_config)
    }

    pub(crate) fn compose(&self, env: &Env) -> Result<Composition, ConfigError> {
        self.open(self.config(env)?, env)
    }

    /// Like [`Self::compose`], for commands that start no server.
    pub(crate) fn compose_without_servers(&self, env: &Env) -> Result<Composition, ConfigError> {
        let mut composition = self.compose(env)?;
        composition.first_listings.wait = None;
        Ok(composition)
    }

    /// Composes from the file that the user names, else from the `presets.toml` of the project. Ignores the user's own
    /// configuration.
    pub(crate) fn compose_project(&self, folder: &Path, env: &Env) -> Result<Composition, ConfigError> {
        let located_config = locate::read_for_project(self.config.as_deref(), folder, env)?;
        self.open(self.check(located_config, env)?, env)
    }

    fn open(&self, config: Config, env: &Env) -> Result<Composition, ConfigError> {
        let mut composition = Composition::new(config, env)?;
        composition.first_listings.wait = Some(self.wait).filter(|wait| !wait.is_zero());
        lock(&self.stores).push(composition.stores.clone());
        Ok(composition)
    }

    pub(crate) async fn close(&self) {
        let open = std::mem::take(&mut *lock(&self.stores));
        for stores in open {
            stores.close().await;
        }
    }
}
