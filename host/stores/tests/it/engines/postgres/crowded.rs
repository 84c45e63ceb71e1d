//! A server that accepts no more connections.

use std::sync::Arc;

use super::trouble::{asked, hasty, house};
use crate::support::index;

#[tokio::test]
async fn a_server_without_free_connections_serves_the_open_ones() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    index(&house.open(), &house.wiki()).await;
    let role = format!("{}_crowd", database.name);
    database.run(&format!("CREATE ROLE {role} LOGIN CONNECTION LIMIT 2; GRANT USAGE ON SCHEMA gatehouse TO {role}; GRANT SELECT ON ALL TABLES IN SCHEMA gatehouse TO {role}")).await;
    let graph = Arc::new(hasty(&database.url().replace("gatehouse@", &format!("{role}@"))));
    let searches: Vec<_> = (0..32)
        .map(|_| {
            let graph = Arc::clone(&graph);
            tokio::spawn(async move { asked(&graph).await })
        })
        .collect();
    for search in searches {
        assert!(search.await.unwrap().unwrap() > 0);
    }
    drop(graph);
    database.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await;
}
