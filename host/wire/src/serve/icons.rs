//! Conversion of icons to MCP.

use gatehouse_core::icon::{Icon, IconTheme};
use rmcp::model;

/// Converts icons. Clients before 2025-11-25 ignore them.
pub(super) fn to_mcp(icons: &[Icon]) -> Option<Vec<model::Icon>> {
    let told = icons.iter().filter_map(|icon| {
        let mut told = model::Icon::new(&icon.src).with_mime_type(icon.check().ok()?);
        if !icon.sizes.is_empty() {
            told = told.with_sizes(icon.sizes.clone());
        }
        Some(match icon.theme {
            Some(IconTheme::Light) => told.with_theme(model::IconTheme::Light),
            Some(IconTheme::Dark) => told.with_theme(model::IconTheme::Dark),
            None => told,
        })
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then_some(told)
}
