//! Property test: an alternative to a failed tool is in the preset and never has a stronger effect. Access is computed
//! from the preset's fields independently.

use std::collections::HashSet;

use proptest::{collection::vec, option, prelude::*};

use super::*;

const SERVERS: [(&str, &[&str]); 3] = [("s0", &[]), ("s1", &["work"]), ("s2", &["work", "play"])];
const TOOLS: [&str; 4] = ["t0", "t1", "t2", "t3"];
const GLOBS: [&str; 8] = ["s0__t1", "s1__*", "*__t2", "s2__t0", "*__t3", "renamed", "*", "nothing"];
const PROXIED: [&str; 7] = ["s0", "s1", "s2", "s*", "tag:work", "tag:play", "tag:none"];
const REFUSED: [&str; 3] = ["DENIED", "INVALID_ARGUMENTS", "{\"error_code\":\"DENIED\"}"];

#[derive(Debug, Clone)]
struct Fact {
    effect: Effect,
    /// Effect in the index, which may be outdated.
    indexed: Effect,
    listed: bool,
    held: bool,
    score: f64,
    calls: u64,
    failed: u64,
}

/// Servers, their index and the ledger. The index returns every tool twice, and again under gates.
#[derive(Debug)]
struct World {
    facts: Vec<Fact>,
    ledger_is_gone: bool,
}

impl World {
    fn tools(&self) -> impl Iterator<Item = (ToolId, &Fact)> {
        let ids = SERVERS.iter().flat_map(|(server, _)| TOOLS.map(|tool| id(server, tool)));
        ids.zip(&self.facts)
    }

    fn fact(&self, tool: &ToolId) -> &Fact {
        self.tools().find(|(id, _)| id == tool).expect("a tool of the world").1
    }
}

fn id(server: &str, tool: &str) -> ToolId {
    ToolId { source: SourceId::Server(server.into()), name: tool.into() }
}

fn with_effect(name: &str, effect: Effect) -> Arc<ToolSpec> {
    Arc::new(ToolSpec { effect, ..(*spec(name)).clone() })
}

#[async_trait]
impl ServerRegistry for World {
    fn status(&self) -> Vec<ServerStatus> {
        let known = Host::default().status().remove(0);
        let status = |(name, tags): &(&str, &[&str])| ServerStatus {
            name: (*name).into(),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            ..known.clone()
        };
        SERVERS.iter().map(status).collect()
    }
    fn source(&self, server: &str) -> Option<Arc<dyn Source>> {
        Host::default().source(server)
    }
    async fn listing(&self, server: &str, _: &Principal) -> Result<ServerListing, Fault> {
        let of_it: Vec<_> = self.tools().filter(|(id, _)| **id.source.name() == *server).collect();
        let listed = of_it.iter().filter(|(_, fact)| fact.listed);
        let held = of_it.iter().filter(|(_, fact)| fact.held);
        let listing = Listing {
            tools: listed.map(|(id, fact)| with_effect(&id.name, fact.effect)).collect(),
            ..Listing::default()
        };
        Ok(ServerListing {
            source: Arc::new(Git(SourceId::Server(server.into()))),
            listing: Arc::new(listing),
            quarantined: Arc::new(held.map(|(id, _)| (id.name.to_string(), "it changed".into())).collect()),
        })
    }
    async fn known(&self, server: &str) -> Result<Option<ServerListing>, Fault> {
        self.listing(server, &Principal::Local).await.map(Some)
    }
    async fn first_listings(&self, servers: &[Arc<str>], _: Duration, _: &Principal) -> Vec<UnlistedServer> {
        servers.iter().map(|name| UnlistedServer { name: Arc::clone(name), failure: None }).collect()
    }

    async fn probe(&self, _: &str, _: &Principal) -> Result<(), Fault> {
        Ok(())
    }
    async fn refresh(&self, _: Option<&str>, _: bool, _: &Principal) -> Result<RefreshReport, Fault> {
        Ok(RefreshReport::default())
    }
    async fn change(&self, _: &str, _: &Map<String, Value>) -> Result<Result<ServerListing, Fault>, Fault> {
        Err(Fault::internal("not asked here"))
    }
    async fn remove(&self, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }
}

#[async_trait]
impl ToolIndex for World {
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault> {
        Everything.put(listing, force).await
    }
    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        ToolIndex::known(&Everything, server).await
    }
    async fn forget(&self, server: &str) -> Result<(), Fault> {
        Everything.forget(server).await
    }
    async fn search(&self, _: &ToolSearchRequest, _: ToolFilter<'_>) -> Result<ToolSearchResult, Fault> {
        let hit = |(id, fact): (ToolId, &Fact)| ToolHit {
            spec: with_effect(&id.name, fact.indexed),
            id,
            score: fact.score,
            fit: MatchQuality::Good,
        };
        let mut hits: Vec<ToolHit> = self.tools().chain(self.tools()).map(hit).collect();
        hits.extend(self.tools().map(hit).map(|mut hit| {
            hit.id.source = SourceId::Gate(Arc::clone(hit.id.source.name()));
            hit
        }));
        Ok(ToolSearchResult { hits, ..ToolSearchResult::default() })
    }
    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        Everything.pending_changes().await
    }
    async fn approve(&self, _: &str, _: &str, _: &str) -> Result<bool, Fault> {
        Ok(false)
    }

    async fn generation(&self) -> Result<i64, Fault> {
        Ok(0)
    }
}

#[async_trait]
impl CallLedger for World {
    fn record(&self, _: CallSample) {}
    async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        if self.ledger_is_gone {
            return Err(Fault::unavailable("it is gone"));
        }
        let one = Everything.metrics(filter).await?.remove(0);
        let of = |(id, fact): (ToolId, &Fact)| ToolMetrics {
            source: id.source,
            tool: id.name.to_string(),
            calls: fact.calls,
            tool_errors: fact.failed,
            last_called: Some(fact.calls),
            ..one.clone()
        };
        Ok(self.tools().map(of).collect())
    }
    async fn reset(&self, _: &MetricsFilter) -> Result<u64, Fault> {
        Ok(0)
    }
    async fn related(&self, _: &ToolId, _: usize) -> Result<Vec<RelatedTool>, Fault> {
        Ok(Vec::new())
    }
    async fn flush(&self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Returns `true` if a glob with at most one star, at an end, matches.
fn is(glob: &str, name: &str) -> bool {
    match (glob.strip_prefix('*'), glob.strip_suffix('*')) {
        (Some(end), _) => name.ends_with(end),
        (_, Some(start)) => name.starts_with(start),
        _ => glob == name,
    }
}

fn in_reach(base: &Preset, top: &Preset, tool: &ToolId, fact: &Fact) -> bool {
    let SourceId::Server(server) = &tool.source else { return false };
    let tags = SERVERS.iter().find(|(name, _)| *name == &**server).map_or(&[][..], |(_, tags)| tags);
    let proxied = top.proxied.as_ref().or(base.proxied.as_ref());
    let reached = proxied.is_none_or(|globs| {
        let names = tags.iter().map(|tag| format!("tag:{tag}")).chain([server.to_string()]);
        names.into_iter().any(|name| globs.iter().any(|glob| is(glob, &name)))
    });
    let exposed = format!("{server}__{}", tool.name);
    let change = top.tools.get(&exposed).or(base.tools.get(&exposed));
    let shown = change.and_then(|change| change.name.as_ref()).unwrap_or(&exposed);
    let denied = base.deny.iter().chain(&top.deny).any(|glob| is(glob, shown) || is(glob, &exposed));
    reached && !denied && !change.is_some_and(|change| change.hidden) && fact.listed && !fact.held
}

fn effect() -> impl Strategy<Value = Effect> {
    prop::sample::select(vec![Effect::ReadOnly, Effect::Mutating, Effect::ExternalExec])
}

fn often() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.85)
}

fn fact() -> impl Strategy<Value = Fact> {
    let numbers = (-1.0..2.0_f64, 0..40_u64, 0..50_u64);
    (effect(), option::weighted(0.3, effect()), often(), often(), numbers).prop_map(
        |(effect, other, listed, kept, (score, calls, failed))| Fact {
            effect,
            indexed: other.unwrap_or(effect),
            listed,
            held: !kept,
            score,
            calls,
            failed,
        },
    )
}

fn preset() -> impl Strategy<Value = Preset> {
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let globs = vec(prop::sample::select(&GLOBS[..]), 0..2).prop_map(owned);
    let proxied = option::weighted(0.5, vec(prop::sample::select(&PROXIED[..]), 1..4).prop_map(owned));
    let place = (prop::sample::select(&SERVERS[..]), prop::sample::select(&TOOLS[..]));
    let changed = (place, any::<bool>()).prop_map(|(((server, _), tool), hidden)| {
        let name = (!hidden).then(|| "renamed".to_owned());
        (format!("{server}__{tool}"), ToolOverride { name, hidden, ..ToolOverride::default() })
    });
    (globs, proxied, vec(changed, 0..3)).prop_map(|(deny, proxied, tools)| Preset {
        deny,
        proxied,
        tools: tools.into_iter().collect(),
        ..Preset::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn fallbacks_never_leave_the_preset_nor_strengthen_the_effect(
        facts in vec(fact(), SERVERS.len() * TOOLS.len()),
        ledger_is_gone in prop::bool::weighted(0.2),
        base in preset(),
        top in preset(),
        error in option::of(prop::sample::select(vec!["TIMEOUT", "EXECUTION_ERROR", REFUSED[0], REFUSED[1], REFUSED[2]])),
    ) {
        let world = Arc::new(World { facts, ledger_is_gone });
        let mut ports = testing::ports();
        ports.servers = Arc::clone(&world) as _;
        ports.tools = Arc::clone(&world) as _;
        ports.ledger = Some(Arc::clone(&world) as _);
        let chained = Preset { extends: vec!["base".into()], ..top.clone() };
        let presets = BTreeMap::from([("base".to_owned(), base.clone()), ("top".to_owned(), chained)]);
        let exposure = CompiledPreset::compile(&presets, "top").expect("a preset");
        let catalog = Catalog::build(&exposure, Vec::new()).expect("a catalog");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        for (failed, fact) in world.tools() {
            let (server, tool) = (failed.source.name(), &failed.name);
            let found = runtime.block_on(async {
                reach(&ports, &catalog).alternatives(server, tool, error, 50).await
            });
            if !in_reach(&base, &top, &failed, fact) {
                prop_assert!(found.is_err(), "{failed:?} is outside the preset");
                continue;
            }
            let found = found.expect("alternatives");
            prop_assert!(found.is_empty() || !error.is_some_and(|error| REFUSED.contains(&error)));
            for (one, entry) in &found {
                let suggested = world.fact(&one.id);
                prop_assert!(one.id != failed, "{failed:?} replaces itself");
                prop_assert!(in_reach(&base, &top, &one.id, suggested), "{:?} is outside the preset", one.id);
                prop_assert!(suggested.effect <= fact.effect && entry.spec.effect == suggested.effect, "{:?}", one.id);
                prop_assert!((0.0..=1.0).contains(&one.score), "{one:?}");
            }
            // All permitted alternatives are present, so an empty list does not pass.
            let fits = |(id, other): (ToolId, &Fact)| {
                id != failed && in_reach(&base, &top, &id, other) && other.effect.max(other.indexed) <= fact.effect
            };
            let expected = world.tools().filter(|(id, other)| fits((id.clone(), other))).count();
            let refused = error.is_some_and(|error| REFUSED.contains(&error));
            let distinct: HashSet<_> = found.iter().map(|(one, _)| &one.id).collect();
            prop_assert_eq!(distinct.len(), if refused { 0 } else { expected });
        }
    }
}
