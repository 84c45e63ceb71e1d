//! Tests of access rules: who they concern, what wins, and that callers share what they may use.

mod model;
mod property;

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::{
    Catalog, CompiledPreset,
    ports::servers::ServerListing,
    source::Listing,
    testing::{Fixture, forwarding_tool, tool, with_effect},
    tool::{SourceId, ToolId},
};

pub(super) fn lines(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn rule(place: &str, who: &str, tools: &[&str]) -> AccessRule {
    AccessRule { place: place.into(), who: lines(&[who]), tools: lines(tools), ..AccessRule::default() }
}

fn compiled(rules: Vec<AccessRule>) -> AccessRules {
    AccessRules::compile(rules).expect("valid rules")
}

fn caller(name: &str, groups: &[&str]) -> Arc<Caller> {
    let mut caller = Caller::new(Principal::Named(name.into()), name);
    caller.groups = groups.iter().map(|group| (*group).into()).collect();
    Arc::new(caller)
}

fn server_tool(server: &str, name: &str) -> Vec<String> {
    let id = ToolId { source: SourceId::Server(server.into()), name: name.into() };
    let shown = id.source.exposed_name(name).expect("a name");
    pattern_names(&id, shown.as_str())
}

fn decision(rules: &AccessRules, caller: &Arc<Caller>, tool: &[String], effect: Effect) -> String {
    rules.access_of(caller).in_preset("dev").decide(tool, effect, None).for_operators()
}

#[test]
fn a_deny_wins_and_what_no_rule_allows_is_denied() {
    let denying = AccessRule { deny: lines(&["*__delete_*"]), ..rule("2", "group:dev", &[]) };
    let rules = compiled(vec![rule("1", "key:ci-*", &["github__*"]), denying]);
    let get = server_tool("github", "get_issue");
    let delete = server_tool("github", "delete_repo");
    let ci = caller("key:ci-1", &[]);
    let decision_for =
        |caller: &Arc<Caller>, tool: &[String]| decision(&rules, caller, tool, Effect::Mutating);
    assert_eq!(decision_for(&ci, &get), "the rule at 1 allows it");
    assert_eq!(decision_for(&ci, &delete), "the rule at 1 allows it");
    let dev = caller("key:ci-1", &["dev"]);
    assert_eq!(decision_for(&dev, &get), "the rule at 1 allows it");
    assert_eq!(decision_for(&dev, &delete), "the rule at 2 denies it by \"*__delete_*\"");
    assert_eq!(decision_for(&ci, &server_tool("gitlab", "get_issue")), "no rule allows it");
    assert_eq!(decision_for(&caller("key:other", &["dev"]), &get), "no rule allows it");
}

#[test]
fn the_weakest_of_all_effect_limits_applies() {
    let reading = AccessRule { effect: Some(Effect::ReadOnly), ..rule("1", "*", &["*"]) };
    let writing = AccessRule { effect: Some(Effect::Mutating), ..rule("2", "group:dev", &["github__*"]) };
    let rules = compiled(vec![reading, writing]);
    let tool = server_tool("github", "push");
    let decision_for = |caller: &Arc<Caller>, effect| decision(&rules, caller, &tool, effect);
    let (any, dev) = (caller("key:a", &[]), caller("key:a", &["dev"]));
    assert_eq!(decision_for(&any, Effect::ReadOnly), "the rule at 1 allows it");
    assert_eq!(
        decision_for(&any, Effect::Mutating),
        "the rule at 1 allows only tools up to the effect read-only"
    );
    assert_eq!(decision_for(&dev, Effect::Mutating), "the rule at 2 allows it");
    let limited = Caller {
        groups: vec!["dev".into()],
        effect: Some(Effect::ReadOnly),
        ..Caller::new(Principal::Named("key:a".into()), "key a")
    };
    let reason = "the scopes of the credential allow only tools up to the effect read-only";
    assert_eq!(decision_for(&Arc::new(limited), Effect::Mutating), reason);
}

#[test]
fn groups_and_principals_cannot_be_mistaken_for_each_other() {
    let rules = compiled(vec![rule("1", "group:admin", &["*"])]);
    let tool = server_tool("github", "push");
    let allowed = |caller: &Arc<Caller>| {
        rules.access_of(caller).in_preset("p").decide(&tool, Effect::ReadOnly, None).is_allowed()
    };
    assert!(allowed(&caller("corp:1", &["admin"])));
    assert!(!allowed(&caller("group:admin", &[])), "a principal of an issuer called 'group'");
    assert!(!allowed(&caller("corp:group:admin", &["group:admin", "Admin", "admin "])));
    assert!(allowed(&Caller::local()), "the local user made the rules");
}

#[test]
fn without_rules_a_key_opens_its_presets() {
    let key =
        Caller { presets: Some(vec!["dev".into()]), ..Caller::new(Principal::Named("key:a".into()), "a") };
    let key = Arc::new(key);
    let access = compiled(Vec::new()).access_of(&key);
    assert!(access.is_full() && access.opens_preset("dev") && !access.opens_preset("ops"));
    let names = server_tool("github", "push");
    let decide = |access: &CallerAccess, preset: &str| {
        access.in_preset(preset).decide(&names, Effect::ExternalExec, None).is_allowed()
    };
    assert!(decide(&access, "dev") && !decide(&access, "ops"));
    let ops = AccessRule { presets: Some(lines(&["o*"])), ..rule("1", "*", &["*"]) };
    let access = compiled(vec![ops.clone()]).access_of(&key);
    assert!(!access.opens_preset("dev"), "no rule covers it");
    assert!(!access.opens_preset("ops") && !decide(&access, "ops"), "the key does not open it");
    let access = compiled(vec![ops]).access_of(&caller("key:b", &[]));
    assert!(access.opens_preset("ops") && decide(&access, "ops") && !decide(&access, "dev"));
    assert!(AccessRules::default().access_of(&key).is_full(), "without [auth] nothing is limited");
}

#[test]
fn rules_match_every_name_of_a_tool() {
    let long = format!("delete_{}", "x".repeat(80));
    let names = server_tool("github", &long);
    assert!(names[0].len() == 64 && names.contains(&format!("github__{long}")), "{names:?}");
    let id = ToolId { source: SourceId::Server("github".into()), name: "delete_repo".into() };
    let renamed = pattern_names(&id, "cleanup");
    let expected = ["cleanup", "server:github.delete_repo", "github.delete_repo", "github__delete_repo"]
        .map(str::to_owned);
    assert_eq!(renamed, expected);
    let denying = AccessRule { deny: lines(&["*__delete_*"]), ..rule("1", "*", &["*"]) };
    let rules = compiled(vec![denying]);
    for tool in [&names, &renamed] {
        assert!(!rules.access_of(&caller("key:a", &[])).in_preset("p").allows(tool, Effect::ReadOnly));
    }
}

#[test]
fn ten_thousand_callers_are_matched_once_and_share_what_they_may_use() {
    let rules = (0..200).map(|number| {
        let who = format!("group:g{}", number % 7);
        rule(&number.to_string(), &who, &[&format!("s{number}__*")])
    });
    let rules = compiled(rules.collect());
    let callers: Vec<_> =
        (0..10_000).map(|number| caller(&format!("key:{number}"), &[&format!("g{}", number % 7)])).collect();
    let accesses: Vec<_> = callers.iter().map(|caller| rules.access_of(caller)).collect();
    for (caller, access) in callers.iter().zip(&accesses) {
        // A token that is checked again makes a new caller.
        let same =
            Caller { groups: caller.groups.clone(), ..Caller::new(caller.principal.clone(), "another") };
        assert!(Arc::ptr_eq(&rules.access_of(&Arc::new(same)), access));
    }
    assert_eq!(rules.matched.load(Ordering::Relaxed), 10_000);
    let mut numbers: Vec<u64> = accesses.iter().map(|access| access.number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 7);
}

#[test]
fn an_invalid_pattern_names_its_rule_and_list() {
    let bad = AccessRule { deny: lines(&["a["]), ..rule("1", "*", &["*"]) };
    let error = AccessRules::compile(vec![rule("0", "*", &["*"]), bad]).expect_err("refused");
    assert_eq!((error.rule, error.list, error.entry.as_str()), (1, "deny", "a["));
    let limit = ArgumentLimit {
        tools: "*".into(),
        pointer: "owner".into(),
        allowed: AllowedValues::OneOf(vec![json!("a")]),
    };
    let bad = AccessRule { when: vec![limit], ..rule("1", "*", &["*"]) };
    let error = AccessRules::compile(vec![bad]).expect_err("refused");
    assert_eq!(error.to_string(), "when entry 'owner' is not a JSON pointer such as \"/owner\"");
}

#[tokio::test]
async fn forwarding_tools_of_gates_have_no_effect_of_their_own() {
    let gate = SourceId::Gate("proxy".into());
    let source =
        Fixture::new(gate, vec![forwarding_tool("call_tool"), with_effect("run", Effect::ExternalExec)]);
    let server = Fixture::new(SourceId::Server("s".into()), vec![forwarding_tool("call_tool")]);
    let preset = CompiledPreset::from_sources("p", Vec::new());
    let listings = vec![source.listed().await, server.listed().await];
    let catalog = Catalog::build(&preset, listings).expect("a catalog");
    let reading = AccessRule { effect: Some(Effect::ReadOnly), ..rule("1", "*", &["*"]) };
    let access = compiled(vec![reading]).access_of(&caller("key:a", &[]));
    let names: Vec<String> =
        catalog.restricted(&access).entries().iter().map(|entry| entry.name.to_string()).collect();
    assert_eq!(names, ["call_tool"], "a server's declaration does not count");
}

#[tokio::test]
async fn a_hidden_tool_of_a_server_is_like_one_that_does_not_exist() {
    let tools = ["get_issue", "get_secret"].map(|name| tool(name, None));
    let source = Fixture::new(SourceId::Server("github".into()), tools.into());
    let listed = source.listed().await;
    let listing: Arc<Listing> = Arc::clone(&listed.listing);
    let server = ServerListing { source: source.clone(), listing, quarantined: Arc::default() };
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), vec![listed]).expect("a catalog");
    let access = compiled(vec![rule("1", "*", &["github__get_issue"])]).access_of(&caller("key:a", &[]));
    let catalog = catalog.restricted(&access);
    let fault = |name: &str| catalog.server_tools.entry(&server, name).err().map(|fault| fault.message);
    assert_eq!(fault("get_issue"), None);
    let missing = fault("get_secret_").expect("missing").replace("get_secret_", "X");
    assert_eq!(fault("get_secret").expect("hidden").replace("get_secret", "X"), missing);
    assert!(missing.contains("Did you mean 'get_issue'?"), "{missing}");
    let names: Vec<_> =
        catalog.server_tools.entries(&server).iter().map(|entry| entry.id.name.to_string()).collect();
    assert_eq!(names, ["get_issue"]);
    let unknown = |name: &str| catalog.find(name).err().map(|fault| fault.message.replace(name, "X"));
    assert_eq!(unknown("github__get_secret"), unknown("github__get_secrets"));
}

#[test]
fn operators_have_a_rule_and_a_credential_for_the_whole_host() {
    let operators = AccessRule { admin: true, ..rule("1", "group:ops", &[]) };
    let rules = compiled(vec![operators, rule("2", "*", &["*"])]);
    assert!(rules.access_of(&caller("ann", &["ops"])).is_admin());
    assert!(!rules.access_of(&caller("bob", &["dev"])).is_admin());
    let mut bound = Caller::new(Principal::Named("ann".into()), "ann");
    bound.groups = vec!["ops".into()];
    bound.presets = Some(vec!["dev".into()]);
    assert!(!rules.access_of(&Arc::new(bound)).is_admin(), "a key for one preset");
    assert!(!compiled(Vec::new()).access_of(&caller("ann", &["ops"])).is_admin(), "without rules");
}
