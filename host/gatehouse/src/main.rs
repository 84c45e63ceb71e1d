//! Gatehouse: the binary. Reads the command line and the configuration, puts the crates together, and
//! gives exit codes their meaning: 0 done, 1 the thing asked failed, 2 wrong usage or configuration.

mod archive;
mod check;
mod cli;
mod compose;
mod config;
mod out;
mod presence;
mod reload;
mod scaffold;
mod telemetry;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    let env = config::Env::read();
    let _log = telemetry::start(env.log());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        // Guests that compute yield often; looking at timers and new work every few polls instead of
        // every 61 keeps everybody else's latency in the milliseconds meanwhile.
        .event_interval(4)
        .global_queue_interval(4)
        .build();
    let outcome = match runtime {
        Ok(runtime) => {
            let outcome = runtime.block_on(cli::run(&env));
            // A blocking read of standard input may never come back.
            runtime.shutdown_background();
            outcome
        }
        Err(error) => Err(cli::Failure::Failed(format!("the runtime cannot start: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            out::complain(failure.message());
            ExitCode::from(failure.code())
        }
    }
}
