//! Converters in every language: `gates new --converter`, the tests of the template, `gates build`, `gates check`, and
//! `docs add` with the `presets.toml` of the project.

use std::{fs, process::Command};

use serde_json::Value;

use super::{Author, rust::cargo_environment};
use crate::support::{Place, installed, repository};

impl Author {
    fn converter(language: &str) -> Self {
        let place = Place::with("", &[]);
        let ran = place.run(&["gates", "new", "weather", "--lang", language, "--converter"]);
        assert_eq!(ran.code(), 0, "{}", ran.stderr());
        Self { place }
    }

    fn converts_cards(&self, mut build: Command) {
        let output = build.output().expect("run gatehouse");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        let build_report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let presets: toml::Table = build_report["presets"].as_str().expect("text").parse().expect("TOML");
        assert_eq!(presets["documents"]["converters"][0].as_str(), Some("weather"), "{build_report}");
        self.passes_every_check();
        let shown = self.place.run(&["gates", "inspect", "weather/weather.wasm"]);
        assert!(shown.stdout().contains("converts     recipe card (.card)"), "{}", shown.stdout());

        self.place.write("cards/soup.card", "@title Grüße\n* 3 tomatoes\n= Boil.\n= Eat.\n? x\n");
        self.place.write("cards/photo.card", b"\xff\xd8".as_slice());
        let folder = self.place.path("cards").display().to_string();
        let config = self.path("presets.toml").display().to_string();
        let add = ["docs", "add", &folder, "--config", &config, "--json"];
        let report = self.place.run(&add).json();
        let skipped = report["report"]["skipped"]["files"].to_string();
        assert!(skipped.contains("photo.card") && skipped.contains("is not a recipe card"), "{skipped}");
        let noted = report["report"]["noted"]["files"].to_string();
        assert!(noted.contains("has 1 lines of an unknown kind"), "{noted}");
        let text = self.place.run(&["docs", "get", "cards", "soup.card"]).stdout();
        assert_eq!(text.trim(), "# Grüße\n\n- 3 tomatoes\n1. Boil.\n2. Eat.");
    }
}

#[test]
fn a_converter_in_c_converts() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::converter("c");
    author.runs(Command::new("make").arg("test"));
    author.converts_cards(author.build());
}

#[test]
fn a_converter_in_rust_converts() {
    let author = Author::converter("rust");
    fs::copy(repository().join("Cargo.lock"), author.path("Cargo.lock")).expect("the lock file");
    author.runs(Command::new(env!("CARGO")).args(["test", "--quiet"]).envs(cargo_environment()));
    let mut build = author.build();
    build.envs(cargo_environment());
    author.converts_cards(build);
}

#[cfg(unix)]
#[test]
fn a_converter_in_python_converts() {
    let Some(venv) = installed("GATEHOUSE_TEST_VENV") else { return };
    let author = Author::converter("python").keeps_machine_code_to_itself();
    author.link(&venv, ".venv");
    author.runs(Command::new("python3").args(["-m", "unittest"]));
    author.converts_cards(author.build());
}

#[cfg(unix)]
#[test]
fn a_converter_in_javascript_converts() {
    let Some(modules) = installed("GATEHOUSE_TEST_NODE_MODULES") else { return };
    let author = Author::converter("js").keeps_machine_code_to_itself();
    author.link(&modules, "node_modules");
    author.runs(Command::new("node").arg("--test"));
    author.converts_cards(author.build());
}
