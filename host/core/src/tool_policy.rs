//! Policy for a tool of a server: what the host relies on when it decides about calls of the tool.
//!
//! Three parties describe a tool, and the first one that does so wins: presets.toml ([`ToolPolicy`]), the definition that was
//! seen first or accepted since by `gatehouse servers review` ([`ToolPromise`]), and the hints that the server sends now. A new
//! hint can make a tool stricter at once. It cannot make it weaker before a review.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    effect::{Effect, Intent},
    names::quoted,
    tool::ToolSpec,
};

/// The schema keyword for the argument that names what a tool changes.
pub const TARGET_KEYWORD: &str = "x-target";

/// The schema keyword for the tool that checks that argument before the call.
pub const PRECHECK_KEYWORD: &str = "x-precheck";

/// The schema keyword, for gates only, for the argument that makes a call of a server's tool a rehearsal.
pub const DRY_RUN_KEYWORD: &str = "x-dry-run";

/// What a tool promises about its calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolPromise {
    /// The strongest thing that it may do.
    pub effect: Effect,
    /// True if it changes and removes nothing that is there.
    pub additive: bool,
    /// True if a second call with the same arguments changes nothing.
    pub idempotent: bool,
    /// True if it reaches beyond what the server keeps.
    pub open_world: bool,
}

impl ToolPromise {
    /// The promise of a tool about which nothing was accepted.
    pub const NONE: Self =
        Self { effect: Effect::ExternalExec, additive: false, idempotent: false, open_world: true };

    /// Returns what a tool promises now.
    pub fn from_spec(spec: &ToolSpec) -> Self {
        Self {
            effect: spec.effect,
            additive: spec.additive,
            idempotent: spec.idempotent,
            open_world: spec.open_world,
        }
    }

    /// Returns the stricter of both promises, in each respect.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            effect: self.effect.max(other.effect),
            additive: self.additive && other.additive,
            idempotent: self.idempotent && other.idempotent,
            open_world: self.open_world || other.open_world,
        }
    }

    /// Makes a tool count as what it promised before, in each respect in which it says that it is weaker now.
    pub fn enforce(self, spec: &mut ToolSpec) {
        let Self { effect, additive, idempotent, open_world } = self.stricter(Self::from_spec(spec));
        spec.set_effect(effect);
        (spec.additive, spec.idempotent, spec.open_world) = (additive, idempotent, open_world);
    }
}

/// What presets.toml says about a tool of a server, under `[servers.SERVER.tools.TOOL]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// The strongest thing that it may do.
    pub effect: Option<Effect>,
    /// True if a second call with the same arguments changes nothing.
    pub idempotent: Option<bool>,
    /// Name of the boolean argument that makes a call a rehearsal.
    pub dry_run: Option<String>,
    /// Name of the argument that says what is changed.
    pub target: Option<String>,
    /// Name of the server's tool that checks that argument before the call.
    pub precheck: Option<String>,
}

impl ToolPolicy {
    /// Returns the tool as this policy describes it. `problems` gets a sentence for each line that cannot hold for it.
    pub fn apply(&self, spec: &ToolSpec, problems: &mut Vec<String>) -> ToolSpec {
        let mut spec = spec.clone();
        if let Some(effect) = self.effect {
            // Repeating is harmless for a tool that reads, which says nothing about one that does not.
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
            // A server ignores arguments that it does not know, and would do the real thing.
            if property(&spec, argument).is_some_and(|schema| schema["type"] == "boolean") {
                spec.dry_run = Some(argument.clone());
            } else {
                problems.push(format!(
                    "tool '{name}' has no boolean argument '{argument}', so dry_run is not used"
                ));
            }
        }
        if let Some(argument) = self.target.as_ref().filter(|argument| property(&spec, argument).is_none()) {
            problems.push(format!("tool '{name}' has no argument '{argument}', so target checks nothing"));
        }
        let keywords = [(TARGET_KEYWORD, &self.target), (PRECHECK_KEYWORD, &self.precheck)];
        if keywords.iter().any(|(_, value)| value.is_some()) {
            let schema = Arc::make_mut(&mut spec.input_schema);
            for (keyword, value) in keywords {
                if let Some(value) = value {
                    schema.insert(keyword.into(), value.as_str().into());
                }
            }
        }
        spec
    }
}

impl ToolSpec {
    /// Sets the effect, and the intent that goes with it. Servers declare no intents.
    fn set_effect(&mut self, effect: Effect) {
        self.effect = effect;
        self.intent = Intent::for_effect(effect);
    }

    /// Returns the schema of the arguments as gates get it, with the name of the argument that makes a call a rehearsal. A
    /// server's own word for that is not passed on.
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
    fn the_file_decides_what_it_names_and_nothing_else() {
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
        // An argument that is not a boolean would have the server do the real thing.
        let described = named("id", "ids").apply(&spec(Effect::Mutating, false), &mut problems);
        assert_eq!(described.dry_run, None);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn a_server_cannot_name_its_own_rehearsal() {
        let mut own = spec(Effect::Mutating, false);
        Arc::make_mut(&mut own.input_schema).insert(DRY_RUN_KEYWORD.into(), "try".into());
        assert!(!own.schema_for_gates().contains_key(DRY_RUN_KEYWORD));
    }
}
