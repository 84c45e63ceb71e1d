//! Parses requests strictly: unknown keys and values are errors.

use gatehouse_sdk::Effect;
use serde_json::{Map, Value};

use crate::reply_format;

const MAX_TIMEOUT_MS: u64 = 300_000;

const MAX_RETRIES: u64 = 5;

struct IntentPolicy {
    intent: &'static str,
    effect: Effect,
    timeout_ms: u64,
    retries: u64,
}

const POLICIES: [IntentPolicy; 5] = [
    IntentPolicy { intent: "QUERY", effect: Effect::ReadOnly, timeout_ms: 60_000, retries: 2 },
    IntentPolicy { intent: "ANALYZE", effect: Effect::ReadOnly, timeout_ms: 60_000, retries: 2 },
    IntentPolicy { intent: "GENERATE", effect: Effect::ReadOnly, timeout_ms: 60_000, retries: 0 },
    IntentPolicy { intent: "MODIFY", effect: Effect::Mutating, timeout_ms: 120_000, retries: 0 },
    IntentPolicy { intent: "EXECUTE", effect: Effect::ExternalExec, timeout_ms: 300_000, retries: 0 },
];

const EFFECTS: [(&str, Effect); 3] = [
    ("READ_ONLY", Effect::ReadOnly),
    ("MUTATING", Effect::Mutating),
    ("EXTERNAL_EXEC", Effect::ExternalExec),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Json,
    CodePy,
    CodeTs,
    Patch,
    Binary,
}

const KINDS: [(&str, Kind); 6] = [
    ("TEXT", Kind::Text),
    ("JSON", Kind::Json),
    ("CODE_PY", Kind::CodePy),
    ("CODE_TS", Kind::CodeTs),
    ("PATCH", Kind::Patch),
    ("BINARY", Kind::Binary),
];

/// Connection to a server for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Isolation {
    /// The shared connection.
    Agent,
    /// A separate server process, started for the request and then stopped.
    Subprocess,
    /// The better choice for this server.
    Auto,
}

const ISOLATIONS: [(&str, Isolation); 3] =
    [("agent", Isolation::Agent), ("subprocess", Isolation::Subprocess), ("auto", Isolation::Auto)];

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        KINDS.iter().find(|(_, kind)| *kind == self).map_or("TEXT", |(name, _)| name)
    }
}

#[derive(Debug, Clone)]
pub(super) struct RequestEnvelope {
    pub(super) intent: &'static str,
    pub(super) action: String,
    /// Strongest allowed effect.
    pub(super) effect: Effect,
    /// Requested type. `None` if the reply determines it.
    pub(super) artifact: Option<Kind>,
    pub(super) params: Map<String, Value>,
    pub(super) timeout_ms: u64,
    pub(super) retries: u64,
    pub(super) dry_run: bool,
    pub(super) isolation: Isolation,
}

pub(super) const EXAMPLE: &str =
    r#"For example {"intent": "QUERY", "action": "search_tools", "params": {"query": "read a file"}}."#;

pub(super) fn effect_name(effect: Effect) -> &'static str {
    EFFECTS.iter().find(|(_, known)| *known == effect).map_or("EXTERNAL_EXEC", |(name, _)| name)
}

/// Returns the weakest intent that allows an effect.
pub(super) fn intent_for(effect: Effect) -> &'static str {
    POLICIES.iter().find(|policy| policy.effect >= effect).map_or("EXECUTE", |policy| policy.intent)
}

impl RequestEnvelope {
    /// Parses a request. The error is a message about it.
    pub(super) fn read(sent: &Map<String, Value>) -> Result<Self, String> {
        check_keys(
            sent,
            &["intent", "action", "effect", "artifact", "params", "constraints", "context"],
            "a request",
        )?;
        let intent = word(sent, "intent")?.ok_or("intent is missing")?;
        let names = POLICIES.map(|policy| policy.intent);
        let policy = POLICIES.iter().find(|policy| policy.intent == intent);
        let policy = policy.ok_or_else(|| format!("intent must be one of {}", names.join(", ")))?;
        let action = word(sent, "action")?.filter(|action| !action.is_empty()).ok_or("action is missing")?;
        let effect = choice(sent, "effect", &EFFECTS)?;
        let artifact = choice(sent, "artifact", &KINDS)?;
        let constraints = object(sent, "constraints")?;
        check_keys(&constraints, &["timeout_ms", "retry_count", "isolation", "dry_run"], "constraints")?;
        let context = object(sent, "context")?;
        check_keys(&context, &["caller", "project_root"], "context")?;
        word(&context, "caller")?;
        word(&context, "project_root")?;
        let isolation = choice(&constraints, "isolation", &ISOLATIONS)?;
        let dry_run = match constraints.get("dry_run") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(given)) => *given,
            Some(_) => return Err("constraints.dry_run must be true or false".into()),
        };
        Ok(Self {
            intent: policy.intent,
            action: action.to_owned(),
            effect: effect.unwrap_or(policy.effect),
            artifact,
            params: object(sent, "params")?,
            isolation: isolation.unwrap_or(Isolation::Agent),
            timeout_ms: number(&constraints, "timeout_ms", 1, MAX_TIMEOUT_MS)?.unwrap_or(policy.timeout_ms),
            retries: number(&constraints, "retry_count", 0, MAX_RETRIES)?.unwrap_or(policy.retries),
            dry_run,
        })
    }
}

fn check_keys(of: &Map<String, Value>, keys: &[&str], what: &str) -> Result<(), String> {
    match of.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!(
            "{what} has no key '{}'; its keys are {}",
            reply_format::line(key, 64),
            keys.join(", ")
        )),
        None => Ok(()),
    }
}

fn word<'a>(of: &'a Map<String, Value>, key: &str) -> Result<Option<&'a str>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(word)) => Ok(Some(word)),
        Some(_) => Err(format!("{key} must be a string")),
    }
}

fn object(of: &Map<String, Value>, key: &str) -> Result<Map<String, Value>, String> {
    match of.get(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(_) => Err(format!("{key} must be an object")),
    }
}

fn number(of: &Map<String, Value>, key: &str, min: u64, max: u64) -> Result<Option<u64>, String> {
    let wrong = || format!("constraints.{key} must be an integer from {min} to {max}");
    match of.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_u64().filter(|n| (min..=max).contains(n)).map(Some).ok_or_else(wrong),
    }
}

fn choice<T: Copy>(of: &Map<String, Value>, key: &str, among: &[(&str, T)]) -> Result<Option<T>, String> {
    let Some(text) = word(of, key)? else { return Ok(None) };
    let names: Vec<&str> = among.iter().map(|(name, _)| *name).collect();
    let choice = among.iter().find(|(name, _)| *name == text).map(|(_, value)| Some(*value));
    choice.ok_or_else(|| format!("{key} must be one of {}", names.join(", ")))
}
