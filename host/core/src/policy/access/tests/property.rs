//! A property test: no output of a restricted catalog reveals what a naive reading of the rules hides.

use std::{collections::BTreeSet, sync::Arc};

use proptest::{prelude::*, sample::subsequence};

use super::{model::NaiveModel, *};
use crate::{
    catalog::SourceListing,
    prompt::Prompt,
    resource::UriTemplate,
    search::{
        RowSet,
        tools::{ToolMatches, ToolQuery, ToolSearch, ToolSegment, ToolSegments},
    },
};

const SOURCES: [(&str, bool, &[&str]); 4] = [
    ("kg", false, &["kg_search", "kg_edit"]),
    ("proxy", false, &["call_tool", "search_tools"]),
    ("github", true, &["get", "create_issue", "delete_repo"]),
    ("files", true, &["read", "write", "prompts"]),
];
const WHO: [&str; 7] = ["*", "group:dev", "group:*", "key:*", "key:a", "corp:*", "token"];
const PATTERNS: [&str; 17] = [
    "*",
    "github__*",
    "*__delete_*",
    "*.get",
    "kg_*",
    "server:*",
    "server:files.*",
    "github.prompts",
    "github.resources",
    "files.*",
    "kg.resources",
    "*.prompts",
    "gate:kg.*",
    "call_tool",
    "search_tools",
    "files__read",
    "nothing",
];
const PRESETS: [&str; 4] = ["*", "p*", "p1", "p2"];

fn strings(from: &'static [&'static str], most: usize) -> impl Strategy<Value = Vec<String>> {
    subsequence(from, 0..=most).prop_map(|some| lines(&some))
}

fn effects() -> impl Strategy<Value = Option<Effect>> {
    prop_oneof![
        3 => Just(None),
        1 => Just(Some(Effect::ReadOnly)),
        1 => Just(Some(Effect::Mutating)),
    ]
}

fn rules() -> impl Strategy<Value = Vec<AccessRule>> {
    let presets = proptest::option::of(strings(&PRESETS, 2));
    let rule = (strings(&WHO, 2), presets, strings(&PATTERNS, 4), strings(&PATTERNS, 2), effects()).prop_map(
        |(who, presets, tools, deny, effect)| AccessRule {
            who,
            presets,
            tools,
            deny,
            effect,
            ..AccessRule::default()
        },
    );
    proptest::collection::vec(rule, 0..6)
}

fn callers() -> impl Strategy<Value = Arc<Caller>> {
    let principal = proptest::sample::select(vec!["key:a", "key:b", "corp:1", "token"]);
    let groups = subsequence(vec!["dev", "ops"], 0..=2);
    let presets = proptest::option::of(subsequence(vec!["p1", "p2"], 0..=2));
    (principal, groups, presets, effects()).prop_map(|(name, groups, presets, effect)| {
        let words = |words: Vec<&str>| words.into_iter().map(Arc::from).collect();
        let caller = Caller::new(Principal::Named(name.into()), name);
        Arc::new(Caller { groups: words(groups), presets: presets.map(words), effect, ..caller })
    })
}

async fn listings(effects: &[Effect]) -> Vec<SourceListing> {
    let mut effects = effects.iter().copied().cycle();
    let mut all = Vec::new();
    for (name, is_server, tools) in SOURCES {
        let id = if is_server { SourceId::Server(name.into()) } else { SourceId::Gate(name.into()) };
        let tools = tools.iter().map(|tool| with_effect(tool, effects.next().expect("endless")));
        let mut listed = Fixture::new(id, tools.collect()).listed().await;
        let prompt = Prompt {
            name: format!("{name}_prompt").into(),
            title: None,
            description: None,
            arguments: Vec::new(),
            icons: Vec::new(),
        };
        let template = UriTemplate {
            uri_template: format!("{name}://{{x}}"),
            name: "x".into(),
            title: None,
            description: None,
            mime_type: None,
        };
        listed.listing = Arc::new(Listing {
            prompts: vec![prompt],
            resources: true,
            templates: vec![template],
            ..Listing::clone(&listed.listing)
        });
        all.push(listed);
    }
    all
}

fn search(segments: &[ToolSegment], allowed: &RowSet, query: &str) -> ToolMatches {
    let queries = [ToolQuery::new(query, Vec::new())];
    let tools = ToolSegments::new(segments.iter().collect());
    tools.search(&ToolSearch { queries: &queries, allowed, limit: 50, min_score: 0.0 })
}

/// Checks that a search over all tools finds the same as one over the visible tools alone.
fn check_search(servers: &[ServerListing], catalog: &Catalog, query: &str) -> Result<(), TestCaseError> {
    let (mut all, mut alone) = (Vec::new(), Vec::new());
    let (mut visible, mut position) = (Vec::new(), 0);
    for server in servers {
        let callable = catalog.server_tools.callable(server);
        let specs = &server.listing.tools;
        let own: Vec<_> = specs.iter().filter(|spec| callable.contains(&spec.name)).cloned().collect();
        all.push(ToolSegment::new(server.source.id(), specs));
        alone.push(ToolSegment::new(server.source.id(), &own));
        visible.extend(
            (0..specs.len()).filter(|at| callable.contains(&specs[*at].name)).map(|at| position + at),
        );
        position += specs.len();
    }
    let mut found = search(&all, &visible.iter().copied().collect(), query);
    for hit in &mut found.tools {
        hit.tool = visible.iter().position(|at| *at == hit.tool).expect("only visible tools");
    }
    prop_assert_eq!(found, search(&alone, &(0..visible.len()).collect(), query));
    Ok(())
}

fn check(
    rules: &[AccessRule],
    caller: &Arc<Caller>,
    preset: &str,
    listings: Vec<SourceListing>,
) -> Result<(), TestCaseError> {
    let servers: Vec<ServerListing> = listings
        .iter()
        .filter(|listed| matches!(listed.source.id(), SourceId::Server(_)))
        .map(|listed| ServerListing {
            source: Arc::clone(&listed.source),
            listing: Arc::clone(&listed.listing),
            quarantined: Arc::default(),
        })
        .collect();
    let full =
        Catalog::build(&CompiledPreset::from_sources(preset, Vec::new()), listings).expect("a catalog");
    let model = NaiveModel { rules, caller, preset };
    let access = compiled(rules.to_vec()).access_of(caller);
    let catalog = full.restricted(&access);
    for known in ["p1", "p2", "other"] {
        prop_assert_eq!(access.opens_preset(known), model.opens(known), "{}", known);
    }
    let wanted = full.entries().iter().filter(|entry| model.tool(&entry.id.source, &entry.declared));
    let wanted: BTreeSet<&str> = wanted.map(|entry| entry.name.as_str()).collect();
    prop_assert_eq!(catalog.names().collect::<BTreeSet<_>>(), wanted.clone());
    // No fault and no suggestion tells a hidden tool from one that does not exist.
    for entry in full.entries() {
        let name = entry.name.as_str();
        let hidden = !wanted.contains(name);
        prop_assert_eq!(catalog.find(name).is_err(), hidden);
        prop_assert_eq!(catalog.get(name).is_none(), hidden);
        let typo = format!("{name}_");
        let message = catalog.find(&typo).err().map(|fault| fault.message).unwrap_or_default();
        let suggested = message.split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next());
        prop_assert!(suggested.is_none_or(|suggested| wanted.contains(suggested)), "{}", message);
        if hidden {
            prop_assert!(catalog.exposed_name(&entry.spec.name).is_none_or(|shown| wanted.contains(shown)));
        }
    }
    for server in &servers {
        let id = server.source.id();
        let visible: BTreeSet<&str> =
            server.listing.tools.iter().filter(|spec| model.tool(id, spec)).map(|spec| &*spec.name).collect();
        let callable = catalog.server_tools.callable(server);
        prop_assert_eq!(callable.iter().map(|name| &**name).collect::<BTreeSet<_>>(), visible.clone());
        let entries = catalog.server_tools.entries(server);
        prop_assert_eq!(
            entries.iter().map(|entry| &*entry.id.name).collect::<BTreeSet<_>>(),
            visible.clone()
        );
        for spec in &server.listing.tools {
            let fault =
                |name: &str| catalog.server_tools.entry(server, name).err().map(|fault| fault.message);
            prop_assert_eq!(fault(&spec.name).is_none(), visible.contains(&*spec.name));
            let message = fault(&format!("{}_", spec.name)).unwrap_or_default();
            let suggested = message.split("Did you mean '").nth(1).and_then(|rest| rest.split('\'').next());
            prop_assert!(suggested.is_none_or(|suggested| visible.contains(suggested)), "{}", message);
        }
        if !visible.is_empty() {
            let access = access.in_preset(preset);
            prop_assert!(
                access.may_allow_tools_of(id.name(), &[]),
                "a server with a visible tool is visible"
            );
        }
    }
    for query in ["get", "delete a repo", "prompts read kg_search nothing"] {
        check_search(&servers, &catalog, query)?;
    }
    let (seen, all) = (&catalog.resources_and_prompts, &full.resources_and_prompts);
    for entry in all.prompts() {
        let visible = model.list(entry.source.id(), "prompts");
        prop_assert_eq!(seen.prompt(entry.name.as_str()).is_ok(), visible);
        prop_assert_eq!(seen.prompts().iter().any(|one| one.name == entry.name), visible);
    }
    for known in all.resource_sources() {
        let (id, visible) = (known.source.id(), model.list(known.source.id(), "resources"));
        prop_assert_eq!(seen.resource_source(&format!("{}://1", id.name())).is_some(), visible);
        prop_assert_eq!(seen.resource_sources().iter().any(|one| one.source.id() == id), visible);
        prop_assert_eq!(seen.can_read_from(id), visible);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_exposes_what_the_rules_hide(
        rules in rules(),
        caller in callers(),
        preset in proptest::sample::select(vec!["p1", "p2", "other"]),
        effects in proptest::collection::vec(proptest::sample::select(Effect::ALL.to_vec()), 1..7),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        check(&rules, &caller, preset, runtime.block_on(listings(&effects)))?;
    }

    #[test]
    fn callers_share_an_access_exactly_if_their_rules_and_limits_are_equal(
        rules in rules(),
        one in callers(),
        two in callers(),
    ) {
        let compiled = compiled(rules.clone());
        let own = |caller: &Caller| {
            let model = NaiveModel { rules: &rules, caller, preset: "p1" };
            let own: Vec<*const AccessRule> = model.own().into_iter().map(std::ptr::from_ref).collect();
            (own, caller.effect, caller.presets.clone())
        };
        let shared = Arc::ptr_eq(&compiled.access_of(&one), &compiled.access_of(&two));
        prop_assert_eq!(shared, own(&one) == own(&two));
    }
}
