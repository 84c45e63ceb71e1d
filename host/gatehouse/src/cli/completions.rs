//! `gatehouse completions`

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Failure};
use crate::out;

#[derive(Args)]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "gatehouse", &mut script);
    out::line(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}
