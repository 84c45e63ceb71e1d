//! Environment settings for summaries of large results: whether, above which size, and how long full results are
//! stored.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use super::{ConfigError, Env};

/// Retention of unpinned results: up to a year.
pub(super) const HOURS: RangeInclusive<u64> = 1..=8_760;

const MAX_THRESHOLD: u64 = 1 << 30;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SummarySettings {
    /// False leaves every reply unfiltered.
    pub(crate) enabled: bool,
    /// Size above which gates summarize results, if the preset does not set one.
    threshold_bytes: Option<u64>,
    /// Retention if the preset does not set one. For artifacts, overrides `presets.toml`.
    pub(crate) ttl_hours: Option<u64>,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self { enabled: true, threshold_bytes: None, ttl_hours: None }
    }
}

impl SummarySettings {
    pub(super) fn validate(env: &Env) -> Result<Self, ConfigError> {
        let enabled = match env.get("MCP_GATEWAY_INTELLIGENCE_ENABLED") {
            None | Some("true" | "1" | "on" | "yes") => true,
            Some("false" | "0" | "off" | "no") => false,
            Some(_) => {
                return Err(ConfigError::new("MCP_GATEWAY_INTELLIGENCE_ENABLED", "must be true or false"));
            }
        };
        let threshold_bytes = number(env, "MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", 0..=MAX_THRESHOLD)?;
        let ttl_hours = number(env, "MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", HOURS)?;
        Ok(Self { enabled, threshold_bytes, ttl_hours })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.threshold_bytes.is_none() && self.ttl_hours.is_none()
    }

    /// Adds the settings to the parameters of a filter gate, if its schema has the parameter and the preset does not
    /// set it.
    pub(crate) fn add(&self, schema: &Map<String, Value>, params: &mut Map<String, Value>) {
        let has_property =
            |name: &str| schema.get("properties").and_then(|properties| properties.get(name)).is_some();
        for (name, value) in [("threshold_bytes", self.threshold_bytes), ("ttl_hours", self.ttl_hours)] {
            if let Some(value) = value.filter(|_| has_property(name) && !params.contains_key(name)) {
                params.insert(name.into(), json!(value));
            }
        }
    }
}

pub(super) fn within(allowed: RangeInclusive<u64>, number: u64) -> Result<u64, String> {
    let reason = || format!("must be {} to {}", allowed.start(), allowed.end());
    allowed.contains(&number).then_some(number).ok_or_else(reason)
}

fn number(env: &Env, variable: &str, allowed: RangeInclusive<u64>) -> Result<Option<u64>, ConfigError> {
    let Some(given) = env.get(variable) else { return Ok(None) };
    let number = given.trim().parse().map_err(|_| ConfigError::new(variable, "is not a whole number"))?;
    within(allowed, number).map(Some).map_err(|reason| ConfigError::new(variable, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(variables: [(&'static str, &str); N]) -> Result<SummarySettings, ConfigError> {
        SummarySettings::validate(&Env::from_pairs(variables))
    }

    #[test]
    fn variables_are_read_or_refused_by_name() {
        assert_eq!(read([]), Ok(SummarySettings::default()));
        assert!(!read([("MCP_GATEWAY_INTELLIGENCE_ENABLED", "false")]).expect("valid").enabled);
        for (variable, value, reason) in [
            ("MCP_GATEWAY_INTELLIGENCE_ENABLED", "maybe", "must be true or false"),
            ("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", "2k", "is not a whole number"),
            ("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", "9999999999", "must be 0 to 1073741824"),
            ("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", "0", "must be 1 to 8760"),
        ] {
            assert_eq!(read([(variable, value)]), Err(ConfigError::new(variable, reason)));
        }
    }

    #[test]
    fn settings_are_defaults_for_parameters_of_the_gate() {
        let set = read([
            ("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", "4096"),
            ("MCP_GATEWAY_INTELLIGENCE_TTL_HOURS", " 5 "),
        ]);
        let set = set.expect("valid");
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let schema = object(json!({"properties": {"threshold_bytes": {}, "other": {}}}));
        let mut params = object(json!({"other": 1}));
        set.add(&schema, &mut params);
        assert_eq!(Value::Object(params), json!({"other": 1, "threshold_bytes": 4096}));
        let mut own = object(json!({"threshold_bytes": 1}));
        set.add(&schema, &mut own);
        assert_eq!(Value::Object(own), json!({"threshold_bytes": 1}), "the preset wins");
    }
}
