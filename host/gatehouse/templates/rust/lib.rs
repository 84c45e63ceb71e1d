//! The weather, as a gate: what a preset may set, and the table of tools. Each tool is a file.

mod convert;
mod forecast;

use gatehouse_sdk::{Effect, Gate, Intent, ToolBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// What a preset may set. The doc comments become the descriptions in the schema, `Default` the defaults.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// The scale of temperatures: metric for Celsius, imperial for Fahrenheit.
    units: Units,
    /// The city that a forecast is for when the call names none.
    #[schemars(length(min = 1))]
    default_city: String,
    /// Where the weather service is; presets.toml has to allow its host.
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

/// The gate: one table of tools.
pub fn gate() -> Gate<Params> {
    Gate::new("{{name}}", env!("CARGO_PKG_VERSION"), "The weather, and its numbers on two scales.")
        .tool(forecast::declare())
        .tool(convert::declare())
}

gatehouse_sdk::export!(gate);

/// Starts a tool. What it may do to the world at most is stated for each, because clients ask people by it, and presets
/// allow by it: `ReadOnly` changes nothing, `Mutating` changes what the host keeps or was given, `ExternalExec` sends,
/// runs or changes something outside.
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

/// To one decimal.
fn rounded(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
