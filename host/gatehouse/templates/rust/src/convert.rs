//! `convert`: Celsius to Fahrenheit, computed locally.

use gatehouse_sdk::{Call, Effect, Fault, Reply, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, fahrenheit, rounded, tool};

const ABSOLUTE_ZERO: f64 = -273.15;

/// Arguments. The host rejects unknown ones and suggests the nearest name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ConvertArgs {
    /// Degrees Celsius.
    #[schemars(range(max = 1_000_000))]
    celsius: f64,
}

/// Structured reply. `gatehouse gates check` verifies that it matches the schema.
#[derive(Serialize, JsonSchema)]
struct ConvertOutput {
    celsius: f64,
    fahrenheit: f64,
}

pub fn declare() -> Tool<Params> {
    tool::<ConvertArgs>("convert", Effect::ReadOnly)
        .title("Convert")
        .description(|_| "Converts a temperature from Celsius to Fahrenheit.")
        .idempotent()
        .output::<ConvertOutput>()
        .run(convert)
}

fn convert(_: &Call<Params>, ConvertArgs { celsius }: ConvertArgs) -> Result<Reply, Fault> {
    if celsius < ABSOLUTE_ZERO {
        return Err(Fault::invalid(format!("Nothing is colder than {ABSOLUTE_ZERO} °C.")).hint("Check the sign."));
    }
    let data = ConvertOutput { celsius, fahrenheit: rounded(fahrenheit(celsius)) };
    Reply::markdown(format!("{celsius:.1} °C is {:.1} °F.", data.fahrenheit)).structured(&data)
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::{FaultKind, testing};

    #[test]
    fn impossible_temperatures_are_rejected() {
        let call = |arguments| testing::call(&crate::gate(), "convert", arguments, "{}");
        assert_eq!(call(r#"{"celsius": 7.5}"#).expect("a reply").text(), "7.5 °C is 45.5 °F.");
        assert_eq!(call(r#"{"celsius": -300}"#).expect_err("a fault").kind, FaultKind::InvalidArguments);
    }
}
