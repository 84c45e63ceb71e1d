//! Gates in every language: `gates new`, `gates build` with the real tools, `gates check`, and a host that serves the
//! result. All templates implement the same gate, so one set of checks fits all.

mod asking;
mod c;
mod converters;
mod dev;
mod gates_check;
mod interrupt;
mod js;
mod mistakes;
mod python;
mod rust;
mod service;

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::support::{Client, Place, fault_of, text_of};
use service::Service;

struct Author {
    place: Place,
}

impl Author {
    fn new(language: &str) -> Self {
        let place = Place::with("", &[]);
        let ran = place.run(&["gates", "new", "weather", "--lang", language]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        assert!(ran.stdout().contains("gatehouse gates build"), "{}", ran.stdout());
        Self { place }
    }

    /// Uses a private cache, for components that differ with each build; their machine code is of no use to other
    /// tests.
    #[cfg(unix)]
    fn keeps_machine_code_to_itself(self) -> Self {
        let folder = self.place.path(".cache/gatehouse/machine-code");
        fs::remove_file(&folder).expect("the link to the shared folder");
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700).create(&folder).expect("a folder");
        self
    }

    fn path(&self, file: &str) -> PathBuf {
        self.place.path("weather").join(file)
    }

    /// Links packages that `cargo xtask test` installed into the project.
    #[cfg(unix)]
    fn link(&self, installed: &std::path::Path, to: &str) {
        std::os::unix::fs::symlink(installed, self.path(to)).expect("a link");
    }

    fn runs(&self, command: &mut Command) -> Output {
        let output = command.current_dir(self.path("")).output().expect("start");
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command:?}: {text}");
        output
    }

    fn build(&self) -> Command {
        self.place.command(&["gates", "build", "weather", "--json"])
    }

    fn built(&self, mut build: Command) -> Value {
        let output = build.output().expect("run gatehouse");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let size = fs::metadata(self.path("weather.wasm")).expect("the component").len();
        assert_eq!(
            (report["name"].as_str(), report["bytes"].as_u64()),
            (Some("weather"), Some(size)),
            "{report}"
        );
        assert!(report["asks"].as_array().is_some_and(|asks| asks.contains(&"http".into())), "{report}");
        let presets: toml::Table = report["presets"].as_str().expect("text").parse().expect("TOML");
        assert!(presets["gates"]["weather"]["http"].is_table(), "{report}");
        report
    }

    fn passes_every_check(&self) {
        let ran = self.place.run(&["gates", "check", "weather/weather.wasm", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        assert_eq!((ran.code(), &report["passed"]), (0, &json!(true)), "{report:#}");
        let checks = report["checks"].as_array().expect("checks");
        assert!(checks.len() >= 9 && checks.iter().all(|line| line["verdict"] == "ok"), "{report:#}");
    }

    fn served(&self, service: &Service, grant: &str) -> Client {
        let service = service.url();
        let params = format!("units = \"imperial\", default_city = \"São Paulo\", service = \"{service}\"");
        let presets = format!(
            "[gates.weather]\ncomponent = \"weather/weather.wasm\"\n{grant}\n\
             [presets.weather]\nstructured = true\ngates.weather = {{ {params} }}\n"
        );
        self.place.write("presets.toml", presets);
        let environment = [("WEATHER_TOKEN", service::TOKEN)];
        let mut client = Client::raw(&self.place, &["serve", "--preset", "weather"], &environment);
        client.initialize("2025-11-25");
        client
    }

    fn keeps_its_promises(&self) {
        let service = Service::start();
        let header = "headers = { Authorization = \"Bearer ${WEATHER_TOKEN}\" }";
        let grant = format!("[gates.weather.http]\n\"{}\" = {{ {header} }}\n", service.url());
        let mut client = self.served(&service, &grant);
        parameters_reach_what_is_listed(&mut client);
        tools_answer_and_refuse(&mut client);
        the_service_is_asked_with_the_secret(&mut client, &service);
        assert!(!client.log().contains(service::TOKEN));
        assert_eq!(client.close(), Some(0));

        let mut client = self.served(&service, "");
        let denied = client.call("forecast", json!({}));
        assert_eq!(kind(&denied), "PERMISSION", "{denied}");
        assert!(text_of(&denied).contains("[gates.weather.http]"), "{denied}");
        assert_eq!(client.text("convert", json!({"celsius": 0})), "0.0 °C is 32.0 °F.");
    }
}

fn kind(result: &Value) -> &str {
    fault_of(result)["type"].as_str().unwrap_or_default()
}

fn parameters_reach_what_is_listed(client: &mut Client) {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["convert", "forecast"]);
    let description = tools[1]["description"].as_str().expect("a description");
    assert!(description.contains("São Paulo") && description.contains("°F"), "{description}");
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(tools[1]["annotations"]["openWorldHint"], true);
    assert_eq!(tools[1]["inputSchema"]["properties"]["city"]["maxLength"], 80);
}

fn tools_answer_and_refuse(client: &mut Client) {
    let converted = client.call("convert", json!({"celsius": 7.5}));
    assert_eq!(text_of(&converted), "7.5 °C is 45.5 °F.");
    assert_eq!(converted["structuredContent"], json!({"celsius": 7.5, "fahrenheit": 45.5}));
    for (arguments, expected) in [
        (json!({"celsius": "warm"}), "'celsius' must be a number"),
        (json!({}), "missing required argument 'celsius'"),
        (json!({"celsuis": 1}), "Did you mean 'celsius'?"),
        (json!({"celsius": -300}), "Nothing is colder than -273.15 °C. [VALIDATION]\nCheck the sign."),
    ] {
        let refused = client.call("convert", arguments);
        assert_eq!(kind(&refused), "VALIDATION", "{refused}");
        assert!(text_of(&refused).contains(expected), "{expected}: {refused}");
    }
}

fn the_service_is_asked_with_the_secret(client: &mut Client, service: &Service) {
    let forecast = client.call("forecast", json!({}));
    assert_eq!(text_of(&forecast), "São Paulo: light rain, 45.5 °F");
    let data = json!({"city": "São Paulo", "sky": "light rain", "temperature": 45.5, "unit": "°F"});
    assert_eq!(forecast["structuredContent"], data);
    let asked = service.asked();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("GET /v1/now?city=S%C3%A3o%20Paulo HTTP/1.1"), "{asked:?}");
    let secret = format!("authorization: bearer {}", service::TOKEN);
    assert!(asked[0].to_lowercase().contains(&secret), "the host adds the header: {asked:?}");
    for (city, wanted, message) in [
        ("Nowhere", "MCP_ERROR", "does not know the city 'Nowhere'. [MCP_ERROR]\nCheck the spelling."),
        ("Forbidden", "PERMISSION", "refused the gate's credentials"),
        ("Broken", "UNAVAILABLE", "status 500"),
        ("Garbage", "UNAVAILABLE", "invalid weather report"),
    ] {
        let failed = client.call("forecast", json!({"city": city}));
        assert_eq!(kind(&failed), wanted, "{failed}");
        assert!(text_of(&failed).contains(message), "{message}: {failed}");
    }
}
