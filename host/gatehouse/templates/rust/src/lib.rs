//! A weather gate: its parameters and its tools. Each tool has its own file.

mod convert;
mod forecast;

use gatehouse_sdk::{Effect, Gate, Intent, ToolBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Parameters that a preset may set. The schema takes descriptions from the doc comments and defaults from `Default`.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Temperature scale: metric for Celsius, imperial for Fahrenheit.
    units: Units,
    /// City of a forecast if the call names none.
    #[schemars(length(min = 1))]
    default_city: String,
    /// URL of the weather service; presets.toml must allow its host.
    service: String,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    Metric,
    Imperial,
}

impl Units {
    fn sign(self) -> &'static str {
        match self {
            Self::Metric => "°C",
            Self::Imperial => "°F",
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            units: Units::Metric,
            default_city: "Berlin".into(),
            service: "https://api.weather.example".into(),
        }
    }
}

/// Returns the gate with its tools.
pub fn gate() -> Gate<Params> {
    Gate::new("{{name}}", env!("CARGO_PKG_VERSION"), "Weather forecasts and temperature conversion.")
        .tool(forecast::declare())
        .tool(convert::declare())
}

gatehouse_sdk::export!(gate);

/// Declares a tool with its strongest effect, which clients and presets use to decide what needs approval. `ReadOnly`
/// changes nothing, `Mutating` changes data that the host stores or was given, `ExternalExec` sends, runs or changes
/// something outside.
fn tool<A: DeserializeOwned + JsonSchema + 'static>(name: &'static str, effect: Effect) -> ToolBuilder<Params, A> {
    let intent = match effect {
        Effect::ReadOnly => Intent::Query,
        Effect::Mutating => Intent::Modify,
        Effect::ExternalExec => Intent::Execute,
    };
    gatehouse_sdk::tool(name).effect(effect).intent(intent)
}

fn fahrenheit(celsius: f64) -> f64 {
    celsius * 9.0 / 5.0 + 32.0
}

/// Rounds to one decimal.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
