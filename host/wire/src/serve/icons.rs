//! Icons on the wire.

use gatehouse_core::icon::{Icon, IconTheme};
use rmcp::model;

/// Icons as the protocol has them. Versions before 2025-11-25 know none, and leave alone what they do not know.
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
