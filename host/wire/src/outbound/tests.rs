//! Resolution and connection, with a scripted lookup instead of the network.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    FaultKind,
    budget::ByteBudget,
    http::{AddressScope, HostPattern, HostRule, HttpRules},
    ports::http::{HttpFetcher, HttpRequest, HttpResponse, RedirectMode},
};
use gatehouse_net::dns::Resolve;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    time::Instant,
};

use super::{
    Outbound,
    resolver::{LookupFn, NoPublicAddress, Resolver},
};

/// Returns a lookup that yields these answers in turn.
fn answers(answers: &'static [&'static [&'static str]]) -> LookupFn {
    let asked = AtomicUsize::new(0);
    Arc::new(move |_| {
        let index = asked.fetch_add(1, Ordering::Relaxed).min(answers.len() - 1);
        let found: io::Result<Vec<SocketAddr>> = answers[index]
            .iter()
            .map(|ip| Ok(SocketAddr::new(ip.parse().map_err(io::Error::other)?, 0)))
            .collect();
        Box::pin(async move { found })
    })
}

async fn resolve(scope: AddressScope, lookup: LookupFn) -> Result<Vec<String>, bool> {
    let name = "host.example".parse().expect("a name");
    let found = Resolver { scope, lookup }.resolve(name).await;
    found.map(|all| all.map(|a| a.ip().to_string()).collect()).map_err(|error| error.is::<NoPublicAddress>())
}

#[tokio::test]
async fn forbidden_addresses_of_a_name_are_dropped() {
    let mixed =
        || answers(&[&["127.0.0.1", "1.1.1.1", "::ffff:10.0.0.1", "169.254.169.254", "2606:4700::1111"]]);
    assert_eq!(
        resolve(AddressScope::Public, mixed()).await,
        Ok(vec!["1.1.1.1".into(), "2606:4700::1111".into()])
    );
    assert_eq!(resolve(AddressScope::Any, mixed()).await.map(|all| all.len()), Ok(5));
    assert_eq!(resolve(AddressScope::Public, answers(&[&["127.0.0.1"]])).await, Err(true));
    assert_eq!(resolve(AddressScope::Public, answers(&[&[]])).await, Ok(vec![]));
}

fn rules(port: u16, private: bool) -> HttpRules {
    let key = HostPattern::parse(&format!("http://host.example:{port}")).expect("a key");
    HttpRules::new("gate", vec![HostRule { key, headers: Vec::new(), private }], [])
}

async fn fetch(outbound: &Outbound, port: u16, private: bool) -> Result<HttpResponse, FaultKind> {
    let request = HttpRequest {
        principal: gatehouse_core::Principal::Local,
        method: "GET".into(),
        url: format!("http://host.example:{port}/"),
        headers: Vec::new(),
        body: None,
        redirects: RedirectMode::Follow,
        deadline: Instant::now() + Duration::from_secs(30),
        budget: ByteBudget::new(1 << 20),
    };
    outbound.fetch(&rules(port, private), request).await.map_err(|fault| fault.kind)
}

async fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                    if stream.write_all(answer).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, connections)
}

#[tokio::test]
async fn a_name_that_stands_for_this_machine_is_refused_unless_its_rule_says_so() {
    let (port, connections) = server().await;
    let outbound = Outbound::with_lookup(&answers(&[&["127.0.0.1"]]));
    assert_eq!(fetch(&outbound, port, false).await.map(|r| r.status), Err(FaultKind::Denied));
    assert_eq!(connections.load(Ordering::SeqCst), 0, "no connection was made");
    assert_eq!(fetch(&outbound, port, true).await.map(|r| r.status), Ok(200));
    // The pooled connection of the private rule is not used for the public rule.
    assert_eq!(fetch(&outbound, port, false).await.map(|r| r.status), Err(FaultKind::Denied));
    assert_eq!(fetch(&outbound, port, true).await.map(|r| r.body), Ok(b"ok".to_vec()));
    assert_eq!(connections.load(Ordering::SeqCst), 1, "the connection is used again");
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_checked_each_time() {
    let (port, connections) = server().await;
    // An empty answer first, as from a name server that waits until the check is over.
    let outbound = Outbound::with_lookup(&answers(&[&[], &["127.0.0.1"]]));
    assert_eq!(fetch(&outbound, port, false).await.map(|r| r.status), Err(FaultKind::Unavailable));
    assert_eq!(fetch(&outbound, port, false).await.map(|r| r.status), Err(FaultKind::Denied));
    assert_eq!(connections.load(Ordering::SeqCst), 0, "no connection was made");
}
