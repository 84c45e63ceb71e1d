//! `forecast`: the current weather of a city, from a weather service. The host sends the request and adds the
//! credentials from presets.toml; this code never sees them.

use gatehouse_sdk::{Call, Effect, Fault, Reply, Tool, http::Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, Units, fahrenheit, rounded, tool};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ForecastArgs {
    /// City, for example Oslo.
    #[schemars(length(min = 1, max = 80))]
    city: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ForecastOutput {
    city: String,
    sky: String,
    temperature: f64,
    unit: &'static str,
}

/// Response of the service.
#[derive(Deserialize)]
struct WeatherReport {
    sky: String,
    celsius: f64,
}

pub fn declare() -> Tool<Params> {
    tool::<ForecastArgs>("forecast", Effect::ReadOnly)
        .title("Forecast")
        .description(|params| {
            format!(
                "Returns the current weather in a city: the sky, and the temperature in {}. \
                 The default city is {}.",
                params.units.sign(),
                params.default_city
            )
        })
        .idempotent()
        .open_world()
        .output::<ForecastOutput>()
        .run(forecast)
}

fn forecast(call: &Call<Params>, args: ForecastArgs) -> Result<Reply, Fault> {
    let Params { units, default_city, service } = &call.params;
    let city = args.city.unwrap_or_else(|| default_city.clone());
    let url = format!("{service}/v1/now?city={}", percent_encoded(&city));
    // A fault of the host (not granted, unreachable, too slow) ends the call.
    let answer = Request::get(url).header("accept", "application/json").timeout_ms(10_000).send()?;
    match answer.status {
        200 => {}
        404 => {
            let fault = Fault::not_found(format!("The weather service does not know the city '{city}'."));
            return Err(fault.hint("Check the spelling."));
        }
        401 | 403 => {
            let fault = Fault::denied("The weather service refused the gate's credentials.");
            return Err(fault.hint("Check the header under [gates.{{name}}.http] in presets.toml."));
        }
        status => return Err(Fault::unavailable(format!("The weather service answered with status {status}."))),
    }
    let report: WeatherReport = serde_json::from_slice(&answer.body)
        .map_err(|_| Fault::unavailable("The weather service sent an invalid weather report."))?;
    let celsius = report.celsius;
    let temperature = rounded(if *units == Units::Metric { celsius } else { fahrenheit(celsius) });
    let (sky, unit) = (report.sky, units.sign());
    Reply::markdown(format!("{city}: {sky}, {temperature:.1} {unit}"))
        .structured(&ForecastOutput { city, sky, temperature, unit })
}

/// Encodes text for a URL query.
fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let encoded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_sdk::{
        FaultKind,
        http::Response,
        testing::{self, Fake},
    };

    #[test]
    fn a_forecast_is_for_the_city_of_the_preset_and_on_its_scale() {
        let host = Fake::new().fetch(|request| {
            assert_eq!(request.url, "https://api.weather.example/v1/now?city=S%C3%A3o%20Paulo");
            Ok(Response::new(200, r#"{"sky": "light rain", "celsius": 7.5}"#))
        });
        let params = r#"{"default_city": "São Paulo", "units": "imperial"}"#;
        let reply = host.run(|| testing::call(&crate::gate(), "forecast", "{}", params)).expect("a reply");
        assert_eq!(reply.text(), "São Paulo: light rain, 45.5 °F");
    }

    #[test]
    fn each_failure_of_the_service_has_its_kind() {
        use FaultKind::{Denied, NotFound, Unavailable};
        for (status, kind) in [(404, NotFound), (403, Denied), (500, Unavailable), (200, Unavailable)] {
            let host = Fake::new().fetch(move |_| Ok(Response::new(status, "{}")));
            let fault = host.run(|| testing::call(&crate::gate(), "forecast", r#"{"city": "Oslo"}"#, "{}"));
            assert_eq!(fault.expect_err("a fault").kind, kind);
        }
    }
}
