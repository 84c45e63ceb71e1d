//! Builds without the required tools, and builds that are interrupted.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use super::Author;
use crate::support::{Place, repository};

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_missing_tool_is_named_with_the_way_to_get_it() {
    for (language, tool, install) in [
        ("rust", "'cargo' is not installed", "https://rustup.rs"),
        ("python", "'componentize-py' is not installed", ".venv/bin/pip install componentize-py==0.25.1"),
        ("js", "'componentize-qjs' is not installed", "npm install --save-dev componentize-qjs@0.4.5"),
        ("c", "'clang' is not installed", "apt install clang lld wasi-libc libclang-rt-dev-wasm32"),
    ] {
        let author = Author::new(language);
        let output = author.build().env("PATH", author.path("nothing")).output().expect("run gatehouse");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{language}: {stderr}");
        assert!(stderr.contains(tool) && stderr.contains(install), "{language}: {stderr}");
    }
}

#[test]
fn one_version_of_each_tool_stands_everywhere() {
    let read = |path: &str| fs::read_to_string(repository().join(path)).expect("a file");
    let (scaffold, xtask) =
        (read("host/gatehouse/src/scaffold/languages.rs"), read("xtask/src/tools/pins.rs"));
    let python = read("host/gatehouse/templates/python/requirements.txt");
    let pin = python.lines().next().expect("a line");
    assert!(xtask.contains(pin) && scaffold.contains(pin), "{pin}");
    let js = read("host/gatehouse/templates/js/package.json");
    let version = js.split("\"componentize-qjs\": \"").nth(1).and_then(|rest| rest.split('"').next());
    let pin = format!("componentize-qjs@{}", version.expect("a version"));
    assert!(xtask.contains(&pin) && scaffold.contains(&pin), "{pin}");
}

#[test]
fn a_folder_that_is_no_project_is_refused() {
    let place = Place::with("", &[]);
    let ran = place.run(&["gates", "build"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("Run `gatehouse gates new` to create one"), "{}", ran.stderr());
    let ran = place.run(&["gates", "new", "My_Gate"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("'My_Gate' cannot be the name of a gate"), "{}", ran.stderr());
}

#[cfg(unix)]
#[test]
fn a_build_that_is_given_up_leaves_nobody_behind() {
    let author = Author::new("python");
    let script = "#!/bin/sh\nsleep 1000 &\necho \"child $!\" >&2\nwait\n";
    let tool = author.place.write("weather/.venv/bin/componentize-py", script);
    fs::set_permissions(tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    let mut host = author.build().stderr(Stdio::piped()).spawn().expect("start gatehouse");
    let stderr = BufReader::new(host.stderr.take().expect("stderr"));
    let mut lines = stderr.lines().map_while(Result::ok);
    let child = lines.find_map(|line| line.strip_prefix("child ").map(str::to_owned)).expect("it started");
    assert!(Command::new("kill").arg(host.id().to_string()).status().expect("kill").success());
    assert_eq!(host.wait().expect("ended").code(), Some(1));
    let start = Instant::now();
    while Path::new("/proc").join(&child).join("exe").exists() {
        assert!(start.elapsed() < PATIENCE, "process {child} still runs");
        std::thread::yield_now();
    }
}
