//! `gates dev`: builds and reports each save; a failed build replaces nothing.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::json;

use super::Author;
use crate::support::{Client, installed};

const PATIENCE: Duration = Duration::from_secs(120);

struct Dev {
    child: Child,
    lines: Receiver<String>,
}

impl Dev {
    fn start(author: &Author) -> Self {
        let mut command = author.place.nameless(&["gates", "dev"]);
        command.current_dir(author.path("")).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("start gatehouse");
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .take_while(|line| sender.send(line.clone()).is_ok())
                .for_each(drop);
        });
        Self { child, lines }
    }

    /// Reads output up to the first line that contains `wanted`, and returns all of it.
    fn says(&self, wanted: &str) -> String {
        let mut output = String::new();
        while !output.contains(wanted) {
            let line = self.lines.recv_timeout(PATIENCE);
            output += &line.unwrap_or_else(|error| panic!("no '{wanted}' ({error}) in:\n{output}"));
            output.push('\n');
        }
        output
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn refused(author: &Author, folder: &str) -> String {
    let mut command = author.place.nameless(&["gates", "dev"]);
    let output = command.current_dir(author.place.path(folder)).output().expect("run gatehouse");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_edited_configuration_of_the_project_stops_it() {
    let author = Author::new("c");
    let presets = author.path("presets.toml");
    let text = fs::read_to_string(&presets).expect("presets.toml");
    fs::write(&presets, format!("{text}\n# edited\n")).expect("saved");
    let error = refused(&author, "weather");
    assert!(
        error.contains("it has changed since it was trusted; read it and run `gatehouse trust "),
        "{error}"
    );
    fs::remove_file(&presets).expect("removed");
    // The place's `presets.toml` is above the project and does not count.
    let error = refused(&author, "weather");
    assert!(
        error.contains("the project has no presets.toml, which sets the destination of its gate"),
        "{error}"
    );
    for folder in [".cache/gatehouse/built-in", ".local/share/gatehouse/gates"] {
        assert!(!author.place.path(folder).exists(), "{folder}");
    }
}

#[test]
fn a_shipped_gate_is_never_replaced() {
    let author = Author::new("c");
    let ran = author.place.run(&["gates", "new", "kg", "--lang", "c"]);
    assert!(ran.code() == 2 && ran.stderr().contains("a shipped gate has this name"), "{}", ran.stderr());
    let world = fs::read_to_string(author.path("wit/world.wit")).expect("a world");
    fs::write(author.path("wit/world.wit"), world.replace("weather", "kg")).expect("renamed");
    let presets = "[host]\ngates = [\"gates\", \"built-in\"]\n";
    fs::write(author.path("presets.toml"), presets).expect("saved");
    let trusted = author.place.run(&["trust", "weather/presets.toml"]);
    assert_eq!(trusted.code(), 0, "{}", trusted.stderr());
    let error = refused(&author, "weather");
    assert!(error.contains("'kg' is the name of a shipped gate, which this one would replace"), "{error}");
    assert!(!author.path("gates/kg.wasm").exists());
}

#[test]
fn every_save_is_built_and_a_mistake_replaces_nothing() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::new("c");
    let change = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(author.path(file)).expect("a source");
        assert!(text.contains(from), "{file}: no {from}");
        fs::write(author.path(file), text.replace(from, to)).expect("saved");
    };
    let mut dev = Dev::start(&author);
    dev.says("  tools: forecast, convert\n");
    let component = author.path("weather.wasm");
    let first = fs::read(&component).expect("a component");

    // None of these files is a source of the gate, or its content is unchanged.
    for (file, text) in
        [("README.md", "notes"), ("presets.toml", "# nothing\n"), ("state/kv.db", "a host's own")]
    {
        author.place.write(&format!("weather/{file}"), text);
    }
    fs::write(author.path("gate.c"), fs::read(author.path("gate.c")).expect("a source"))
        .expect("saved as it was");
    change("gate.c", "'maximum': 1000000,", "'maximum': 5000,");
    let output = dev.says("~ tool 'convert': ");
    assert!(
        output.starts_with("saved gate.c\nbuilt ") && output.contains("arguments (~celsius)"),
        "{output}"
    );
    let second = fs::read(&component).expect("a component");
    assert_ne!(first, second);

    change("weather.c", "return celsius * 9 / 5 + 32;", "return nonsense;");
    dev.says("build failed, the previous version stays: 'clang' failed");
    assert_eq!(fs::read(&component).expect("a component"), second);

    // An unchanged component is not written again, because a host would reload it.
    let written = fs::metadata(&component).expect("a component").modified().expect("a time");
    change("weather.c", "return nonsense;", "return celsius * 9 / 5 + 32;");
    dev.says("is the same as before\n");
    assert_eq!(fs::metadata(&component).expect("a component").modified().expect("a time"), written);
    change("weather.c", "return celsius * 9 / 5 + 32;", "return celsius * 9 / 5 + 33;");
    dev.says("  the tools are unchanged\n");

    let ended = Command::new("kill").arg(dev.child.id().to_string()).status().expect("kill");
    assert!(ended.success());
    assert_eq!(dev.child.wait().expect("ended").code(), Some(0), "a signal ends it normally");
}

#[test]
fn a_host_that_serves_an_older_version_again_is_shown() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::new("c");
    let dev = Dev::start(&author);
    let version = |output: String| {
        let rest = output.rsplit_once(": version ").map(|(_, rest)| rest.to_owned());
        rest.and_then(|rest| rest.lines().next().map(str::to_owned)).expect("a version")
    };
    let first = version(dev.says(": version "));
    author.place.write(
        "presets.toml",
        "[gates.weather]\ncomponent = \"weather/weather.wasm\"\n[presets.weather]\ngates.weather = {}\n",
    );
    let mut client = Client::raw(&author.place, &["serve", "--preset", "weather"], &[]);
    client.initialize("2025-11-25");
    assert_eq!(client.text("convert", json!({"celsius": 0})), "0.0 °C is 32.0 °F.");
    author.makes_a_mistake(
        "weather.c",
        "    json_number(json_member(arguments, \"celsius\"), &celsius);\n",
        "    if (celsius == 666) __builtin_trap();\n",
    );
    let second = version(dev.says(": version "));
    assert_ne!(first, second);
    client.log_with("gate 'weather' was reloaded");
    for _ in 0..3 {
        client.fails("convert", json!({"celsius": 666}));
    }
    let process = client.pid();
    dev.says(&format!(
        "host of process {process}: gate 'weather': version {second} trapped three times in a row; version {first} is served again\n"
    ));
    assert!(author.place.path(".cache/gatehouse/functions").exists());
    assert_eq!(author.place.run(&["cache", "clean"]).code(), 0);
    assert!(!author.place.path(".cache/gatehouse/functions").exists());
}
