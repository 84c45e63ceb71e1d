//! Applies a write plan in one transaction.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::outcome::Fault;

use super::{
    super::{
        error::StoreError,
        server::PostgresServer,
        session::{CommitOutcome, PostgresSession},
        vectors::{put_items, remove_items},
    },
    put::put,
    read,
};
use crate::{
    engine::{PAGES, PageWrites, WriteOutcome, WritePlan},
    wiki::ids,
};

/// Page inserts that are sent concurrently.
const MAX_IN_FLIGHT: usize = 16;

/// Applies a plan if it is still valid; returns a conflict otherwise.
pub(super) async fn apply(server: &PostgresServer, plan: &Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
    let db = server.write().await?;
    match write(&db, plan).await {
        Ok(true) => {}
        Ok(false) => {
            db.finish_transaction(Ok(())).await?;
            return Ok(WriteOutcome::Conflict);
        }
        Err(error) => return Err(db.rollback_fault(error).await),
    }
    match db.commit().await {
        CommitOutcome::Committed => Ok(WriteOutcome::Done),
        CommitOutcome::Failed(error) => Err(server.fault(error)),
        CommitOutcome::Unknown(error) => Ok(WriteOutcome::Unknown(server.fault(error))),
    }
}

async fn write(db: &PostgresSession, plan: &Arc<dyn WritePlan>) -> Result<bool, StoreError> {
    let scope = plan.run_blocking(|plan| plan.scope()).await?;
    let found = read::heads(db, &scope).await?;
    let writes = plan.run_blocking(move |plan| plan.writes(&found)).await?;
    let Some(PageWrites { remove, put: pages }) = writes else { return Ok(false) };
    let gone: Vec<String> = remove.iter().map(|id| ids::key(id)).collect();
    remove_items(db, PAGES, &gone).await?;
    let items: Vec<_> = pages.iter().map(|page| (page.key(), page.version_to_embed())).collect();
    put_items(db, PAGES, &items).await?;
    let replaced = items.into_iter().map(|(key, _)| key).chain(gone).collect::<Vec<_>>();
    db.run("DELETE FROM gatehouse.page WHERE key = ANY($1)", &[&replaced]).await?;
    let puts = pages.iter().map(|page| put(db, page));
    stream::iter(puts.collect::<Vec<_>>()).buffered(MAX_IN_FLIGHT).try_collect::<Vec<()>>().await?;
    plan.run_blocking(|plan| plan.finish()).await?;
    Ok(true)
}
