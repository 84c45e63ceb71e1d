//! Health of a store in a database file.

use gatehouse_core::outcome::Fault;

use super::{
    super::{migrations, session::SqliteSession, vectors},
    Database, open_reader,
};
use crate::{
    engine::{StoreHealth, VectorModel},
    sql::{Result, schema},
};

impl Database {
    /// Returns the health of the store in this file, without creating or migrating the file. `count` counts the items.
    pub(crate) async fn health(
        &self,
        model: Option<&VectorModel>,
        count: impl FnOnce(&SqliteSession, &mut StoreHealth) -> Result<()> + Send + 'static,
    ) -> Result<StoreHealth, Fault> {
        let address = self.path().display().to_string();
        let mut health = StoreHealth { engine: "sqlite", address, ..StoreHealth::default() };
        if !self.exists().await {
            return Ok(health);
        }
        let (path, kind, model) = (self.path().to_owned(), self.shared.kind, model.cloned());
        let run = move || {
            let db = open_reader(&path, kind.steps)?;
            let (found, latest) = (migrations::version(&db)?, schema::latest(kind.steps));
            health.schema = Some((found, latest));
            let db = SqliteSession::new(db);
            if found > 0 {
                count(&db, &mut health)?;
            }
            health.without_vector = match model {
                None => 0,
                Some(model) if found == latest => {
                    vectors::count_waiting(&db.connection(), kind.corpus, &model)?
                }
                // The first write or read migrates an older schema.
                Some(_) => health.items,
            };
            Ok(health)
        };
        let done = tokio::task::spawn_blocking(run).await.map_err(|_| self.closed_fault())?;
        done.map_err(|error| self.shared.fault(error))
    }
}
