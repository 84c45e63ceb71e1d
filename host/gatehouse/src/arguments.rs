//! Reading of the command line, and the messages for one that is incomplete or wrong.

use clap::{
    CommandFactory as _, FromArgMatches as _,
    error::{ContextKind, ContextValue, ErrorKind},
};
use gatehouse_core::names;

use crate::{
    cli::{Cli, CommandError, CommandResult, answer_completions},
    examples, out,
};

/// Text that `gatehouse` prints without a command.
const FIRST_STEPS: [&str; 10] = [
    concat!(
        "Gatehouse ",
        env!("CARGO_PKG_VERSION"),
        ": one MCP server between your agents and all their tools"
    ),
    "",
    "I have MCP servers   gatehouse servers import --write",
    "I have documents     gatehouse docs add FOLDER --name NAME",
    "I write tools        gatehouse gates new NAME --lang python",
    "Connect a client     claude mcp add gatehouse -- gatehouse serve --preset proxy",
    "                     gatehouse mcp-config proxy --client cursor",
    "Choose the tools     gatehouse presets list",
    "Look for problems    gatehouse doctor",
    "All commands         gatehouse help",
];

impl Cli {
    /// Parses the command line. Prints help or the version and returns `None` if the user requested that.
    ///
    /// Prints completions and exits if a shell requests them.
    pub(crate) fn read(colors: bool) -> CommandResult<Option<Self>> {
        answer_completions();
        if std::env::args_os().len() <= 1 {
            FIRST_STEPS.iter().for_each(out::line);
            return Ok(None);
        }
        let read = examples::add_examples(Self::command()).try_get_matches();
        match read.and_then(|matches| Self::from_arg_matches(&matches)) {
            Ok(cli) => Ok(Some(cli)),
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                let text = error.render();
                let (plain, colored) = (text.to_string(), text.ansi().to_string());
                out::help(plain.trim_end(), colored.trim_end(), colors);
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::InvalidSubcommand => {
                let context = |kind| match error.get(kind) {
                    Some(ContextValue::String(text)) => vec![text.clone()],
                    Some(ContextValue::Strings(texts)) => texts.clone(),
                    _ => Vec::new(),
                };
                let typed = context(ContextKind::InvalidSubcommand).concat();
                let candidates = context(ContextKind::SuggestedSubcommand);
                let suggestion = names::did_you_mean(&typed, candidates.iter().map(String::as_str));
                let typed = names::quoted(&typed, 64);
                let reason =
                    format!("unknown command '{typed}'.{suggestion} `gatehouse help` lists the commands");
                Err(CommandError::usage(reason))
            }
            Err(error) => {
                let text = error.to_string();
                Err(CommandError::usage(text.trim().trim_start_matches("error: ")))
            }
        }
    }
}
