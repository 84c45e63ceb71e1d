//! The tool catalog on SQLite.

use std::sync::Arc;

use gatehouse_core::ports::{Clock, Embedder};
use gatehouse_stores::ToolCatalogStore;

use super::Sqlite;
use crate::{engines::ToolFixture, tool_behaviours::tool_behaviours};

impl ToolFixture for Sqlite {
    fn open_tools(&self, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> ToolCatalogStore {
        ToolCatalogStore::sqlite(self.dir.path().join("state/tools.db"), clock, embedder)
    }
}

tool_behaviours!(Sqlite);
