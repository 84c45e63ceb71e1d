//! Packages from `cargo xtask dist`, installed by the usual tools in an empty folder and run there.

mod archive;
mod bundle;
mod debian;
mod described;
mod npm;
mod wheel;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Client, Place, place::binary, processes};

const TRIPLE: &str = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    "x86_64-unknown-linux-gnu"
} else {
    "aarch64-unknown-linux-gnu"
};

struct Packages {
    place: Place,
}

impl Packages {
    fn of(formats: &[&str]) -> Self {
        let packages = Self { place: Place::with("", &[]) };
        let small = packages.place.path("small/gatehouse");
        fs::create_dir(packages.place.path("small")).expect("a folder");
        must(Command::new("strip").arg("-o").arg(&small).arg(binary()));
        packages.make("packages", formats);
        packages
    }

    fn make(&self, folder: &str, formats: &[&str]) {
        let packaging = binary().with_file_name("gatehouse-packaging");
        assert!(packaging.exists(), "{} is missing; `cargo xtask test` builds it", packaging.display());
        let mut command = Command::new(packaging);
        command.arg("--binary").arg(self.place.path("small/gatehouse")).args(["--target", TRIPLE, "--store"]);
        must(command.arg("--out").arg(self.place.path(folder)).args(formats));
    }

    fn file(&self, ending: &str) -> PathBuf {
        let found = self.all().into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
        let found: Vec<PathBuf> = found.collect();
        assert_eq!(found.len(), 1, "{ending}: {found:?}");
        found[0].clone()
    }

    fn all(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path("packages")).expect("packages");
        let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        found.sort();
        found
    }

    /// A command of an installed program; of the caller's environment it gets only `PATH`.
    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.place.folder.path()).env_clear().stdin(Stdio::null());
        command
            .env("HOME", self.place.folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GATEHOUSE_STATE", self.place.path("state"));
        command
    }

    /// Checks an installed program: its version, tools over stdio, exit codes, and behavior at signals.
    fn serves(&self, program: &Path) {
        let version = must(&mut self.command(program, &["--version"]));
        assert_eq!(version, concat!("gatehouse ", env!("CARGO_PKG_VERSION"), "\n"));

        let serve = ["serve", "--preset", "full", "--config", "built-in"];
        let mut client = Client::spawn(self.command(program, &serve));
        assert_eq!(client.initialize("2025-11-25")["serverInfo"]["name"], "gatehouse");
        let tools = client.tools();
        assert!(tools.contains(&"search_knowledge".to_owned()), "{tools:?}");
        assert_eq!(client.close(), Some(0), "it ends with its client");

        let wrong = self.command(program, &["no-such-command"]).output().expect("it runs");
        assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
        let missing_config =
            self.command(program, &["kg", "search", "x", "--config", "/nowhere.toml"]).output();
        assert_eq!(missing_config.expect("it runs").status.code(), Some(2));
        for signal in [Signal::TERM, Signal::INT] {
            assert_eq!(self.ended_by(program, signal), self.ended_by(&binary(), signal), "{signal:?}");
        }
    }

    /// Returns the exit code or signal with which a serving host ends at `signal`. No child process may remain.
    fn ended_by(&self, program: &Path, signal: Signal) -> (Option<i32>, Option<i32>) {
        let serve = ["serve", "--preset", "full", "--config", "built-in", "--http", "127.0.0.1:0"];
        let mut child =
            self.command(program, &serve).stderr(Stdio::piped()).spawn().expect("start what was installed");
        let lines = BufReader::new(child.stderr.take().expect("stderr")).lines();
        let mut log = Vec::new();
        for line in lines.map_while(Result::ok) {
            log.push(line);
            if log.last().is_some_and(|line| line.contains("gatehouse serves preset")) {
                break;
            }
        }
        assert!(log.iter().any(|line| line.contains("gatehouse serves preset")), "{log:?}");
        let below = processes::below(child.id());
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a number")).expect("not 0");
        kill_process(pid, signal).expect("a signal");
        let status = child.wait().expect("it ends");
        processes::end_all(&below);
        (status.code(), status.signal())
    }
}

fn must(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", output_text(&output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn output_text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}
