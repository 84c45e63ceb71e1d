//! Where a command finds configuration and gates, and what it opened there.

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use clap::Args;

use crate::{
    archive,
    compose::{Composition, HostStores},
    config::{
        Config, ConfigError, Env,
        locate::{self, LocatedConfig},
    },
    out,
};

/// Where configuration and gates are.
#[derive(Args)]
pub(crate) struct GlobalArgs {
    /// The configuration; built-in is the shipped one [default: GATEHOUSE_CONFIG, else a trusted presets.toml of
    /// this folder or one above it, else the one in the XDG config home, else built-in]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder with gates, instead of those that the configuration names
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) gates: Option<PathBuf>,
    /// What was opened by this command, to be closed at its end.
    #[arg(skip)]
    stores: Mutex<Vec<HostStores>>,
}

impl GlobalArgs {
    pub(crate) fn config(&self, env: &Env) -> Result<Config, ConfigError> {
        self.check(self.locate_config(env)?, env)
    }

    fn check(&self, found: LocatedConfig, env: &Env) -> Result<Config, ConfigError> {
        let mut config = Config::from_text(&found.text, self.gates.as_deref(), None, env)?;
        config.choice = found.choice;
        // What a restore that was killed left over is finished before anybody looks.
        archive::finish(&config.state)
            .map_err(|why| ConfigError { place: config.state.display().to_string(), message: why })?;
        Ok(config)
    }

    /// The text of the configuration; says on standard error which file was passed over.
    pub(crate) fn locate_config(&self, env: &Env) -> Result<LocatedConfig, ConfigError> {
        let found = locate::read(self.config.as_deref(), env)?;
        if let Some(ignored) = &found.choice.ignored {
            out::warn(ignored.to_string());
        }
        Ok(found)
    }

    pub(crate) fn compose(&self, env: &Env) -> Result<Composition, ConfigError> {
        self.composed(self.config(env)?, env)
    }

    /// Composes from the file that is named, else from the presets.toml of a project, and never from another one.
    pub(crate) fn compose_project(&self, folder: &Path, env: &Env) -> Result<Composition, ConfigError> {
        let found = locate::read_for_project(self.config.as_deref(), folder, env)?;
        self.composed(self.check(found, env)?, env)
    }

    fn composed(&self, config: Config, env: &Env) -> Result<Composition, ConfigError> {
        let composition = Composition::new(config, env)?;
        self.stores().push(composition.stores.clone());
        Ok(composition)
    }

    fn stores(&self) -> std::sync::MutexGuard<'_, Vec<HostStores>> {
        gatehouse_core::lock(&self.stores)
    }

    /// Closes what was opened, so that each database is one whole file.
    pub(crate) async fn close(&self) {
        let open = std::mem::take(&mut *self.stores());
        for stores in open {
            stores.close().await;
        }
    }
}
