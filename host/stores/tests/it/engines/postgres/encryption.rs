//! Encrypted connections: only verified servers are trusted.

use gatehouse_core::{outcome::Fault, ports::KnowledgeGraph as _};
use gatehouse_stores::WikiRoots;

use super::{Postgres, graph_on, server::Database};
use crate::{
    engines::Setup,
    support::{House, counts, index, tls::Front},
};

async fn house() -> Option<House<Postgres>> {
    Some(House::small(Postgres { database: Database::breakable().await? }))
}

fn url(house: &House<Postgres>, port: u16, parameters: &str) -> String {
    format!("postgres://gatehouse@localhost:{port}/{}?{parameters}", house.engine.database.name)
}

async fn refused(url: &str) -> Fault {
    graph_on(url, Setup::of(WikiRoots::Any)).stats().await.unwrap_err()
}

#[tokio::test]
async fn a_server_whose_root_is_named_is_talked_to() {
    let Some(house) = house().await else { return };
    let front = Front::of(house.engine.database.server.as_ref().unwrap().port, "localhost").await;
    let parameters = format!("sslmode=verify-full&sslrootcert={}", front.root().display());
    let graph = graph_on(&url(&house, front.port(), &parameters), Setup::of(WikiRoots::Any));
    assert_eq!(counts(&index(&graph, &house.wiki()).await).0, 5);
    assert_eq!(graph.stats().await.unwrap().pages, 5);
}

#[tokio::test]
async fn strangers_and_servers_without_encryption_are_refused() {
    let Some(house) = house().await else { return };
    let port = house.engine.database.server.as_ref().unwrap().port;
    let (front, other) = (Front::of(port, "localhost").await, Front::of(port, "other.example").await);
    let named = |root: &Front| format!("sslmode=require&sslrootcert={}", root.root().display());
    for (server, parameters) in [
        // An untrusted root, a wrong root, and a wrong name.
        (&front, "sslmode=require".to_owned()),
        (&front, named(&other)),
        (&other, named(&other)),
    ] {
        let fault = refused(&url(&house, server.port(), &parameters)).await;
        assert!(fault.message.contains("certificate"), "{parameters}: {fault:?}");
    }
    let fault = refused(&url(&house, port, &named(&front))).await;
    assert!(fault.message.contains("TLS"), "{fault:?}");
    assert_eq!(house.open().stats().await.unwrap().pages, 0);
}
