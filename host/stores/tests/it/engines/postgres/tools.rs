//! The tool catalog on PostgreSQL.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    FaultKind,
    ports::{Clock, Embedder, ToolIndex as _, tool_index::ChangePolicy},
};
use gatehouse_stores::{PostgresConfig, ToolCatalogStore};

use super::{Postgres, server::Database};
use crate::{
    engines::{Fixture as _, ToolFixture},
    support::clock,
    tool_behaviours::{files, listing, names, search, tool_behaviours},
};

impl ToolFixture for Postgres {
    fn open_tools(&self, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> ToolCatalogStore {
        let server = PostgresConfig::parse(&self.database.url()).unwrap();
        ToolCatalogStore::postgres(server, clock, embedder)
    }
}

tool_behaviours!(Postgres);

#[tokio::test]
async fn while_its_server_is_down_tools_are_served_as_last_read_and_no_decision_is_taken() {
    let Some(mut database) = Database::breakable().await else { return };
    let mut server = PostgresConfig::parse(&database.url()).unwrap();
    (server.times.first_pause, server.times.longest_pause) = (Duration::ZERO, Duration::ZERO);
    let tools = ToolCatalogStore::postgres(server.clone(), clock(), None);
    let strict = |tools| listing("files", tools, ChangePolicy::Quarantine);
    tools.put(strict(files()), false).await.unwrap();
    tools.put(strict(files().split_off(1)), false).await.unwrap();
    let known = async |tools: &ToolCatalogStore| {
        let known = tools.known("files").await?.map(|known| known.listing.tools.clone());
        Ok::<_, gatehouse_core::Fault>(known.unwrap_or_default())
    };
    assert_eq!(known(&tools).await.unwrap().len(), 1);
    database.server.as_mut().unwrap().crash();
    assert_eq!(names(&search(&tools, "move_file", |_| true).await), ["move_file"]);
    assert_eq!(known(&tools).await.unwrap().len(), 1);
    let refused = tools.approve("files", "move_file", "0").await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::Unavailable);
    assert!(refused.message.starts_with("tool catalog 'postgres' at 127.0.0.1"), "{refused}");
    assert!(tools.put(strict(files()), false).await.is_err());
    let new = ToolCatalogStore::postgres(server, clock(), None);
    assert_eq!(known(&new).await.unwrap_err().kind, FaultKind::Unavailable, "nothing was read before");
    database.server.as_mut().unwrap().run();
    tools.put(strict(files()), false).await.unwrap();
    assert_eq!((known(&tools).await.unwrap().len(), known(&new).await.unwrap().len()), (2, 2));
}

#[tokio::test]
async fn of_two_hosts_that_list_a_server_for_the_first_time_one_does() {
    let Some(place) = Postgres::fresh().await else { return };
    let (here, there) = (place.open_tools(clock(), None), place.open_tools(clock(), None));
    for number in 0..10 {
        let server = format!("files-{number}");
        let of = |tools| listing(&server, tools, ChangePolicy::Quarantine);
        let (one, two) =
            tokio::join!(here.put(of(files()), false), there.put(of(files().split_off(1)), false));
        let (one, two) = (one.unwrap(), two.unwrap());
        let in_order = one.added == 2 && two.removed == 1 || two.added == 1 && one.added == 1;
        assert!(in_order, "{one:?} {two:?}");
    }
}
