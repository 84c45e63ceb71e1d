//! What changed on disk since the house was composed.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_sandbox::Stamp;

use crate::config::Config;

/// Changes that are to be tried together.
#[derive(Default)]
pub(super) struct Change {
    /// Another configuration.
    pub(super) configuration: Option<Arc<Config>>,
    /// Gates whose files are to be read again, as they are now.
    pub(super) reread: BTreeMap<String, Stamp>,
    /// Gates whose files are gone, and what the system says of them.
    pub(super) withdraw: BTreeMap<String, String>,
}

impl Change {
    pub(super) fn is_empty(&self) -> bool {
        self.configuration.is_none() && self.reread.is_empty() && self.withdraw.is_empty()
    }

    /// Each change alone: gates first, so that a new configuration finds those that work.
    pub(super) fn parts(&self) -> Vec<Self> {
        let reread = self
            .reread
            .iter()
            .map(|(name, stamp)| Self { reread: [(name.clone(), stamp.clone())].into(), ..Self::default() });
        let withdraw = self
            .withdraw
            .iter()
            .map(|(name, why)| Self { withdraw: [(name.clone(), why.clone())].into(), ..Self::default() });
        let configuration = self
            .configuration
            .iter()
            .map(|config| Self { configuration: Some(Arc::clone(config)), ..Self::default() });
        reread.chain(withdraw).chain(configuration).collect()
    }
}
