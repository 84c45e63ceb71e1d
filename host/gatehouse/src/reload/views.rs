//! Views of a composition, and their update when servers change their listings.

use std::time::Duration;

use gatehouse_core::{CompiledPreset, ports::ServerRegistry as _};
use tokio::{sync::watch, time::Instant};

use super::{PlainError, Reloader};
use crate::compose::{Composition, PresetViews};

/// Minimum time between updates for changed listings. Several servers may start together.
const MIN_RELIST_INTERVAL: Duration = Duration::from_millis(100);

impl Reloader {
    /// Builds the views of a composition. Fails if a preset breaks that works now.
    pub(super) async fn checked_views(&self, composition: &Composition) -> Result<PresetViews, PlainError> {
        let views = self.views(composition).await?;
        let broken = views.failing().into_iter().find(|(name, _)| !self.failing.contains(name));
        match broken {
            Some((preset, why)) => {
                Err(format!("preset '{preset}' could not be served any more: {why}").into())
            }
            None => Ok(views),
        }
    }

    /// Returns a receiver for changed server listings, marked as changed if some already arrived.
    pub(super) fn listings(&self) -> watch::Receiver<u64> {
        let mut listings = self.current.stores.servers.live.changes();
        if *listings.borrow_and_update() > 0 {
            listings.mark_changed();
        }
        listings
    }

    /// Requests listings from servers that gates of served presets may call and that were never listed, so that a first
    /// search finds their tools.
    pub(super) async fn ask_unlisted_servers(&mut self) {
        let config = &self.current.config;
        let live = &self.current.stores.servers.live;
        if live.status().is_empty() {
            return;
        }
        let chosen = config.select(self.origin.preset.as_deref(), &self.origin.env).ok();
        let others = config.served_presets().filter(|_| self.origin.all);
        let others = others.filter_map(|name| config.compiled(name).ok());
        let reaches_servers = |compiled: &CompiledPreset| self.current.reaches_servers(compiled);
        let compiled_presets: Vec<CompiledPreset> =
            chosen.into_iter().chain(others).filter(reaches_servers).collect();
        let wanted = live.ask_unlisted(|server| {
            compiled_presets.iter().any(|compiled| compiled.allows_server(&server.name, &server.tags))
        });
        self.listing_guards = wanted.await;
    }

    /// Rebuilds views for changed server listings. Clients are notified if their lists changed.
    pub(super) async fn relist(&mut self) {
        // Limit the rate for servers that change their tools constantly.
        tokio::time::sleep_until(self.relisted + MIN_RELIST_INTERVAL).await;
        self.relisted = Instant::now();
        match self.checked_views(&self.current).await {
            Ok(views) => self.swap_views(views).await,
            Err(why) => tracing::warn!("a server changed its tools, but they cannot be shown: {why}"),
        }
    }

    /// Swaps the pointer of each preset to views of the current composition.
    pub(super) async fn swap_views(&mut self, views: PresetViews) {
        let current = &self.current;
        if let Ok(chosen) = current.config.select(self.origin.preset.as_deref(), &self.origin.env) {
            self.report.unmatched_patterns(current.unmatched_in_views(&views, &chosen).await);
        }
        self.failing = views.failing().into_keys().collect();
        let notified = self.presets.swap(views.default, views.presets, &self.current.config.access.rules);
        self.report.swapped(&notified);
    }

    pub(super) async fn views(&self, composition: &Composition) -> Result<PresetViews, PlainError> {
        let chosen = composition.config.select(self.origin.preset.as_deref(), &self.origin.env);
        composition.views(&chosen?, self.origin.all).await
    }
}
