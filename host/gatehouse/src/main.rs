//! The `gatehouse` binary: reads the command line and the configuration, composes the crates and sets the exit code.
//!
//! Exit codes: 0 success, 1 the command failed, 2 wrong usage or configuration.

#[macro_use]
mod plain_error;

mod allocator;
mod archive;
mod arguments;
mod built_in;
mod check;
mod cli;
mod compose;
mod config;
mod control;
mod dashboard;
mod data_owner;
mod desktop;
mod examples;
#[cfg(test)]
mod fuzz;
mod global_args;
mod import;
mod out;
mod pinned_command;
mod progress;
#[cfg(test)]
mod reference;
mod reload;
mod scaffold;
mod scraped;
mod signals;
mod system_limits;
mod telemetry;
mod traces;
mod watch;

use std::process::ExitCode;

use gatehouse_wire::downstream;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|command| command == downstream::SUPERVISE) {
        return downstream::supervise(arguments);
    }
    let env = match config::Env::read() {
        Ok(env) => env,
        Err(error) => {
            out::set_options(out::OutputOptions { quiet: false, colors: false });
            return report_failure(&error.into());
        }
    };
    let cli = match cli::Cli::read(env.colors()) {
        Ok(Some(cli)) => cli,
        Ok(None) => return ExitCode::SUCCESS,
        Err(failure) => {
            out::set_options(out::OutputOptions { quiet: false, colors: env.colors() });
            return report_failure(&failure);
        }
    };
    out::set_options(out::OutputOptions { quiet: cli.quiet, colors: env.colors() });
    let _log = telemetry::start(env.get("GATEHOUSE_LOG"), cli.log());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    // Guests that compute yield often. The default, a look at timers and new work every 61 polls, would delay all other
    // tasks by more than a few milliseconds.
    runtime.enable_all().event_interval(4).global_queue_interval(4);
    if cli.serves_one_client() {
        // With a second worker, each line would wake a thread that finds no work left.
        runtime.worker_threads(1);
    }
    let outcome = match runtime.build() {
        Ok(runtime) => {
            let outcome = runtime.block_on(cli::run(cli, &env));
            // A blocking read of standard input may never return.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(cli::CommandError::failed(format!("cannot start the runtime: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => report_failure(&failure),
    }
}

fn report_failure(failure: &cli::CommandError) -> ExitCode {
    out::error(&failure.message);
    ExitCode::from(failure.exit_code)
}
