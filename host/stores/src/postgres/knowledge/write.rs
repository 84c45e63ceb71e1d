//! Writes pages: a plan is one transaction.

use std::sync::Arc;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::outcome::Fault;

use super::{
    super::{
        error::StoreError,
        server::Server,
        session::{Kept, Session},
    },
    put::{amend, put},
    read,
};
use crate::{
    engine::{Applied, Plan},
    wiki::{ids, record::Record},
};

/// Pages that are on their way to the server at the same time.
const ON_THE_WAY: usize = 16;

/// Applies a plan, where it still holds.
pub(super) async fn apply(server: &Server, plan: &Arc<Plan>) -> Result<Applied, Fault> {
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
        Kept::Yes => Ok(Applied::Done),
        Kept::No(error) => Err(server.fault(error)),
        Kept::Unknown(error) => Ok(Applied::Unknown(server.fault(error))),
    }
}

async fn write(db: &Session, plan: &Arc<Plan>) -> Result<bool, StoreError> {
    let found = read::heads(db, &plan.scope).await?;
    if !plan.off_thread(move |plan| plan.holds(&found)).await? {
        return Ok(false);
    }
    let mut put_whole: Vec<&Record> = plan.put.iter().collect();
    if let [page] = &plan.put[..]
        && let Some((number, old)) = read::stored(db, &page.key()).await?
        && same_text(page, &old)
    {
        amend(db, number, page).await?;
        put_whole.clear();
    }
    let replaced = put_whole.iter().map(|page| page.key());
    let gone: Vec<String> = plan.remove.iter().map(|id| ids::key(id)).chain(replaced).collect();
    if !gone.is_empty() {
        db.run("DELETE FROM gatehouse.page WHERE key = ANY($1)", &[&gone]).await?;
    }
    let puts = put_whole.into_iter().map(|page| put(db, page));
    stream::iter(puts.collect::<Vec<_>>()).buffered(ON_THE_WAY).try_collect::<Vec<()>>().await?;
    plan.off_thread(Plan::finish).await?;
    Ok(true)
}

/// Whether two pages are found by the same words and mean the same.
fn same_text(a: &Record, b: &Record) -> bool {
    (&a.id, a.page_type, &a.title, &a.overview, &a.content, &a.domains)
        == (&b.id, b.page_type, &b.title, &b.overview, &b.content, &b.domains)
}
