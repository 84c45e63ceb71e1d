//! Policy for a server's tool: the promises that the host relies on.
//!
//! Precedence: presets.toml ([`ToolPolicy`]), then the effect that a person declared for this definition
//! ([`AcceptedPromise`]), then the definition first seen or last accepted by `gatehouse servers review`
//! ([`ToolPromise`]), then the server's current hints. New hints can make a tool stricter immediately, but weaker only
//! after a review.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Effect, Intent, ToolSpec, names::quoted};

/// Schema keyword: the argument that names what a tool changes.
pub const TARGET_KEYWORD: &str = "x-target";

/// Schema keyword: the tool that checks this argument before the call.
pub const PRECHECK_KEYWORD: &str = "x-precheck";

/// Schema keyword, for gates only: the argument that makes a call of a server's tool a dry run.
pub const DRY_RUN_KEYWORD: &str = "x-dry-run";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPromise {
    pub effect: Effect,
    /// True if it changes and removes no existing data.
    pub additive: bool,
    /// True if a second call with the same arguments changes nothing.
    pub idempotent: bool,
    /// True if it accesses anything beyond the server's own data.
    pub open_world: bool,
}

impl ToolPromise {
    /// The promise of a tool that was never accepted.
    pub const NONE: Self =
        Self { effect: Effect::ExternalExec, additive: false, idempotent: false, open_world: true };

    pub fn from_spec(spec: &ToolSpec) -> Self {
        Self {
            effect: spec.effect,
            additive: spec.additive,
            idempotent: spec.idempotent,
            open_world: spec.open_world,
        }
    }

    /// Returns the stricter of both promises for each property.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            effect: self.effect.max(other.effect),
            additive: self.additive && other.additive,
            idempotent: self.idempotent && other.idempotent,
            open_world: self.open_world || other.open_world,
        }
    }

    /// Applies the earlier promise to each property that the tool now declares weaker.
    pub fn enforce(self, spec: &mut ToolSpec) {
        self.stricter(Self::from_spec(spec)).set(spec);
    }

    fn set(self, spec: &mut ToolSpec) {
        let Self { effect, additive, idempotent, open_world } = self;
        spec.set_effect(effect);
        (spec.additive, spec.idempotent, spec.open_world) = (additive, idempotent, open_world);
    }
}

/// A promise that was accepted: one of the server, or one that a person declared for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AcceptedPromise {
    #[serde(flatten)]
    pub promise: ToolPromise,
    /// Digest of the definition for which a person declared it. `None` if the server declared it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_for: Option<String>,
}

impl AcceptedPromise {
    /// Declares the effect of a tool for its present definition, which has this digest.
    pub fn declare(effect: Effect, spec: &ToolSpec, digest: &str) -> Self {
        let policy = ToolPolicy { effect: Some(effect), ..ToolPolicy::default() };
        let promise = ToolPromise::from_spec(&policy.apply(spec, &mut Vec::new()));
        Self { promise, declared_for: Some(digest.to_owned()) }
    }

    /// Applies the promise to a tool whose definition has this digest. What a person declared replaces what the server
    /// says. It says nothing about another definition, which promises nothing until a review.
    pub fn apply(&self, spec: &mut ToolSpec, digest: &str) {
        match self.declared_for.as_deref() {
            Some(declared) if declared == digest => self.promise.set(spec),
            Some(_) => ToolPromise::NONE.enforce(spec),
            None => self.promise.enforce(spec),
        }
    }

    /// Returns the effect that a person declared for another definition than the one with this digest.
    pub fn outdated_effect(&self, digest: &str) -> Option<Effect> {
        self.declared_for.as_ref().filter(|declared| *declared != digest).map(|_| self.promise.effect)
    }
}

/// Settings of a server's tool in presets.toml, under `[servers.SERVER.tools.TOOL]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    pub effect: Option<Effect>,
    pub idempotent: Option<bool>,
    /// Name of the boolean argument that makes a call a dry run.
    pub dry_run: Option<String>,
    /// Name of the argument that names what is changed.
    pub target: Option<String>,
    /// Name of the server's tool that checks this argument before the call.
    pub precheck: Option<String>,
}

impl ToolPolicy {
    /// Returns the tool with this policy. Adds a sentence to `problems` for each setting that does not fit it.
    pub fn apply(&self, spec: &ToolSpec, problems: &mut Vec<String>) -> ToolSpec {
        let mut spec = spec.clone();
        if let Some(effect) = self.effect {
            // Reading tools are trivially idempotent, so that says nothing if the tool writes after all.
            spec.idempotent = match spec.effect {
                _ if effect == Effect::ReadOnly => true,
                Effect::ReadOnly => false,
                _ => spec.idempotent,
            };
            spec.set_effect(effect);
        }
        spec.idempotent = self.idempotent.unwrap_or(spec.idempotent);
        let name = quoted(&spec.name, 64);
        if let Some(argument) = &self.dry_run {
            // A server ignores unknown arguments, so a wrong name would make a dry run a real call.
            if property(&spec, argument).is_some_and(|schema| schema["type"] == "boolean") {
                spec.dry_run = Some(argument.clone());
            } else {
                problems.push(format!(
                    "tool '{name}' has no boolean argument '{argument}', so dry_run is not used"
                ));
            }
        }
        if let Some(argument) = self.target.as_ref().filter(|argument| property(&spec, argument).is_none()) {
            problems.push(format!("tool '{name}' has no argument '{argument}', so target is not used"));
        }
        for (keyword, value) in [(TARGET_KEYWORD, &self.target), (PRECHECK_KEYWORD, &self.precheck)] {
            if let Some(value) = value {
                let schema = Arc::make_mut(&mut spec.input_schema);
                schema.insert(keyword.into(), value.as_str().into());
            }
        }
        spec
    }
}

impl ToolSpec {
    /// Sets the effect and the matching intent: servers declare no intents.
    fn set_effect(&mut self, effect: Effect) {
        self.effect = effect;
        self.intent = Intent::for_effect(effect);
    }

    /// Returns the argument schema for gates, with the name of the dry-run argument instead of the server's own value.
    pub fn schema_for_gates(&self) -> Map<String, Value> {
        let mut schema = (*self.input_schema).clone();
        schema.remove(DRY_RUN_KEYWORD);
        if let Some(argument) = &self.dry_run {
            schema.insert(DRY_RUN_KEYWORD.into(), argument.as_str().into());
        }
        schema
    }
}

fn property<'a>(spec: &'a ToolSpec, argument: &str) -> Option<&'a Value> {
    spec.input_schema.get("properties")?.get(argument)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::tool;

    fn spec(effect: Effect, idempotent: bool) -> ToolSpec {
        let schema =
            json!({"type": "object", "properties": {"id": {"type": "string"}, "try": {"type": "boolean"}}});
        let input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        ToolSpec { effect, idempotent, input_schema, ..tool("rename", None) }
    }

    #[test]
    fn a_promise_holds_until_it_is_replaced_by_a_stricter_one() {
        let accepted =
            ToolPromise { effect: Effect::Mutating, additive: true, idempotent: false, open_world: true };
        for (now, expected) in [
            (spec(Effect::ReadOnly, true), (Effect::Mutating, false, Intent::Modify)),
            (spec(Effect::Mutating, true), (Effect::Mutating, false, Intent::Modify)),
            (spec(Effect::ExternalExec, false), (Effect::ExternalExec, false, Intent::Execute)),
        ] {
            let mut now = ToolSpec { additive: true, ..now };
            accepted.enforce(&mut now);
            assert_eq!((now.effect, now.idempotent, now.intent), expected);
            assert!(now.additive && now.open_world);
        }
        let mut destroys = spec(Effect::Mutating, false);
        accepted.enforce(&mut destroys);
        assert!(destroys.is_destructive(), "a server may say that its tool is worse than it said before");
    }

    #[test]
    fn policy_overrides_only_the_properties_it_sets() {
        let none = &mut Vec::new();
        let effect = |effect| ToolPolicy { effect: Some(effect), ..ToolPolicy::default() };
        let read = effect(Effect::ReadOnly).apply(&spec(Effect::ExternalExec, false), none);
        assert_eq!((read.effect, read.idempotent, read.intent), (Effect::ReadOnly, true, Intent::Query));
        let write = effect(Effect::Mutating).apply(&spec(Effect::ReadOnly, true), none);
        assert_eq!((write.effect, write.idempotent, write.intent), (Effect::Mutating, false, Intent::Modify));
        let again = ToolPolicy { idempotent: Some(true), ..ToolPolicy::default() };
        let again = again.apply(&spec(Effect::ExternalExec, false), none);
        assert_eq!((again.effect, again.idempotent), (Effect::ExternalExec, true));
        assert_eq!(
            ToolPolicy::default().apply(&spec(Effect::Mutating, false), none),
            spec(Effect::Mutating, false)
        );
        assert!(none.is_empty());
    }

    #[test]
    fn arguments_that_the_tool_lacks_are_reported() {
        let named = |dry_run: &str, target: &str| ToolPolicy {
            dry_run: Some(dry_run.into()),
            target: Some(target.into()),
            precheck: Some("look".into()),
            ..ToolPolicy::default()
        };
        let mut problems = Vec::new();
        let described = named("try", "id").apply(&spec(Effect::Mutating, false), &mut problems);
        assert_eq!(described.dry_run.as_deref(), Some("try"));
        let schema = Value::Object(described.schema_for_gates());
        assert_eq!(
            (&schema[TARGET_KEYWORD], &schema[PRECHECK_KEYWORD], &schema[DRY_RUN_KEYWORD]),
            (&json!("id"), &json!("look"), &json!("try"))
        );
        assert!(problems.is_empty(), "{problems:?}");
        // A server would treat a non-boolean argument as a real call.
        let described = named("id", "ids").apply(&spec(Effect::Mutating, false), &mut problems);
        assert_eq!(described.dry_run, None);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn server_cannot_declare_its_own_dry_run() {
        let mut own = spec(Effect::Mutating, false);
        Arc::make_mut(&mut own.input_schema).insert(DRY_RUN_KEYWORD.into(), "try".into());
        assert!(!own.schema_for_gates().contains_key(DRY_RUN_KEYWORD));
    }
}
