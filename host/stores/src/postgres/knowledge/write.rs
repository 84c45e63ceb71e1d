//! Writes pages: a plan is one transaction.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::outcome::Fault;

use super::{
    super::{
        error::StoreError,
        server::Server,
        session::{Committed, Session},
        vectors::{put_items, remove_items},
    },
    put::put,
    read,
};
use crate::{
    engine::{Applied, PAGES, Plan, Writes},
    wiki::ids,
};

/// Pages that are on their way to the server at the same time.
const ON_THE_WAY: usize = 16;

/// Applies a plan, where it still holds.
pub(super) async fn apply(server: &Server, plan: &Arc<dyn Plan>) -> Result<Applied, Fault> {
    let db = server.write().await?;
    match write(&db, plan).await {
        Ok(true) => {}
        Ok(false) => {
            db.end(Ok(())).await?;
            return Ok(Applied::Changed);
        }
        Err(error) => return Err(db.fail(error).await),
    }
    match db.commit().await {
        Committed::Yes => Ok(Applied::Done),
        Committed::No(error) => Err(server.fault(error)),
        Committed::Unknown(error) => Ok(Applied::Unknown(server.fault(error))),
    }
}

async fn write(db: &Session, plan: &Arc<dyn Plan>) -> Result<bool, StoreError> {
    let scope = plan.off_thread(|plan| plan.scope()).await?;
    let found = read::heads(db, &scope).await?;
    let writes = plan.off_thread(move |plan| plan.writes(&found)).await?;
    let Some(Writes { remove, put: pages }) = writes else { return Ok(false) };
    let gone: Vec<String> = remove.iter().map(|id| ids::key(id)).collect();
    remove_items(db, PAGES, &gone).await?;
    let items: Vec<_> = pages.iter().map(|page| (page.key(), page.version_to_embed())).collect();
    put_items(db, PAGES, &items).await?;
    let replaced = items.into_iter().map(|(key, _)| key).chain(gone).collect::<Vec<_>>();
    db.run("DELETE FROM gatehouse.page WHERE key = ANY($1)", &[&replaced]).await?;
    let puts = pages.iter().map(|page| put(db, page));
    stream::iter(puts.collect::<Vec<_>>()).buffered(ON_THE_WAY).try_collect::<Vec<()>>().await?;
    plan.off_thread(|plan| plan.finish()).await?;
    Ok(true)
}
