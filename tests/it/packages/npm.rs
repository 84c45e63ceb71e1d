//! The npm packages, installed without a registry: a launcher, and the program for this system.

use std::{fs, process::Command};

use super::{Packages, must, output_text};

fn npm(packages: &Packages, arguments: &[&str]) -> Command {
    let quiet = ["--offline", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"];
    let mut command = packages.command("npm".as_ref(), arguments);
    command.args(quiet).arg("--prefix").arg(packages.place.path("npm"));
    command
}

fn native(packages: &Packages) -> std::path::PathBuf {
    let found = packages.all().into_iter().find(|path| path.to_string_lossy().contains("-linux-"));
    found.expect("a package with the program")
}

#[test]
fn npm_installs_the_launcher_with_the_program_of_this_system() {
    let packages = Packages::of(&["npm"]);
    let launcher = packages.file(concat!("gatehouse-mcp-", env!("CARGO_PKG_VERSION"), ".tgz"));
    must(npm(&packages, &["install"]).arg(launcher).arg(native(&packages)));
    packages.serves(&packages.place.path("npm/node_modules/.bin/gatehouse"));
    assert!(packages.place.path("npm/node_modules/gatehouse-mcp/docs/presets.md").is_file());
    let version = must(npm(&packages, &["exec"]).args(["--", "gatehouse-mcp", "--version"]));
    assert_eq!(version, concat!("gatehouse ", env!("CARGO_PKG_VERSION"), "\n"));
    must(&mut npm(&packages, &["uninstall", "gatehouse-mcp", native_name().as_str()]));
    assert!(!packages.place.path("npm/node_modules/.bin/gatehouse").exists());
}

fn native_name() -> String {
    format!("gatehouse-mcp-linux-{}", if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" })
}

#[test]
fn without_the_program_the_launcher_says_which_package_is_missing() {
    let packages = Packages::of(&["npm"]);
    let launcher = packages.file(concat!("gatehouse-mcp-", env!("CARGO_PKG_VERSION"), ".tgz"));
    must(npm(&packages, &["install", "--omit=optional"]).arg(launcher));
    let program = packages.place.path("npm/node_modules/.bin/gatehouse");
    let ran = packages.command(&program, &["--version"]).output().expect("node runs");
    assert_eq!(ran.status.code(), Some(1));
    let text = output_text(&ran);
    assert!(text.contains(&native_name()) && text.contains("--omit=optional"), "{text}");
    assert!(fs::read_dir(packages.place.path("npm/node_modules")).expect("modules").count() > 0);
}
