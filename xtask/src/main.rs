//! The build helper of Gatehouse: `cargo xtask <command>`.
//!
//! It only starts other programs (cargo, the gateway, pinned test tools); nothing that ships depends on it. Exit codes:
//! 0 success, 1 failure, 2 wrong usage.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output is for the user")]

mod bench;
mod build;
mod dist;
mod fuzz;
mod gates;
mod process;
mod run;
mod servers;
mod snapshot;
mod soak;
mod test;
mod tools;
mod workspace;

use std::fmt;
use std::process::ExitCode;

struct Command {
    name: &'static str,
    usage: &'static str,
    summary: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

/// Commands, in the order in which a newcomer needs them.
const COMMANDS: &[Command] = &[
    Command {
        name: "run",
        usage: "run [-- ARGS…]",
        summary: "build all, index the sample wiki, serve over HTTP; with ARGS: run the gateway with them",
        run: run::run,
    },
    Command {
        name: "gates",
        usage: "gates [--fixtures]",
        summary: "build the gates into gates/*.wasm (and the test gates into target/fixture-gates/)",
        run: gates::run,
    },
    Command {
        name: "test",
        usage: "test [STEP…]",
        summary: "run everything that CI runs, or only the named steps",
        run: test::run,
    },
    Command {
        name: "fuzz",
        usage: "fuzz [SECONDS]",
        summary: "feed random input to parsers of untrusted input (GATEHOUSE_FUZZ_SEED repeats a run)",
        run: fuzz::run,
    },
    Command {
        name: "bench",
        usage: "bench [--quick] [--noise] [--quality [--data FOLDER]] [--json FILE] [--from-nothing] [--publish] [P1 \
        … P18]",
        summary: "compare the gateway with a native server in one run",
        run: bench::run,
    },
    Command {
        name: "soak",
        usage: "soak [SECONDS]",
        summary: "run honest clients next to a hostile server, gate and documents, 600 s per run by default",
        run: soak::run,
    },
    Command {
        name: "dist",
        usage: "dist [--binary FILE] [--store] [archive wheel npm debian image mcpb registry]",
        summary: "make packages of the release build, or of FILE, in target/dist/",
        run: dist::run,
    },
];

#[derive(Debug)]
struct UsageError(String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// Parses the only argument of a command, a number of seconds.
fn seconds(arguments: &[String], default: u64) -> Result<u64, UsageError> {
    match arguments {
        [] => Ok(default),
        [seconds] => seconds.parse().map_err(|_| {
            UsageError(format!(
                "invalid value '{seconds}' for SECONDS: expected a whole number such as {default}"
            ))
        }),
        _ => Err(UsageError(format!("unexpected argument: {}", arguments[1..].join(" ")))),
    }
}

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    // Each command can install packages, so each accepts the flag. Arguments after `--` are not ours.
    let separator = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let forwarded = arguments.split_off(separator);
    arguments.retain(|argument| argument != tools::YES);
    arguments.extend(forwarded);
    let name = arguments.first().map_or("help", String::as_str);
    if matches!(name, "help" | "--help" | "-h") {
        print!("{}", help());
        return if arguments.is_empty() { ExitCode::from(2) } else { ExitCode::SUCCESS };
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("unknown command '{name}'\n\n{}", help());
        return ExitCode::from(2);
    };
    match (command.run)(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<UsageError>() => {
            eprintln!("{error}\nusage: cargo xtask {}", command.usage);
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("cargo xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let width = COMMANDS.iter().map(|command| command.usage.len()).max().unwrap_or_default();
    let lines = COMMANDS.iter().map(|command| format!("  {:width$}  {}\n", command.usage, command.summary));
    format!(
        "usage: cargo xtask <command> [--yes]\n\n{}\n--yes installs missing Debian packages without asking.\n",
        lines.collect::<String>()
    )
}
