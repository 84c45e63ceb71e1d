//! Generates `docs/command-line.md` from the commands. The test fails if the page is stale.

use std::{fmt::Write as _, fs, path::Path};

use clap::{Arg, ArgAction, Command, CommandFactory as _};

use crate::{cli::Cli, examples};

const INTRODUCTION: &str = "\
# Command line

Every command, with its `--help`. A test generates this page from the program; do not edit it.

Most commands that print data have `--json`. Exit codes: 0 success, 1 the command failed, 2 wrong usage or
configuration. Results go to standard output, everything else to standard error.

";

fn page() -> String {
    let root = examples::add_examples(Cli::command());
    let mut page = INTRODUCTION.to_owned();
    let global: Vec<&Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    page.push_str("| global option | description |\n|---|---|\n");
    global.iter().for_each(|arg| row(&mut page, arg));
    page.push('\n');
    let mut leaves = examples::leaves(&root, "gatehouse");
    leaves.sort_by_key(|(name, _)| examples::place(name));
    for (name, command) in leaves {
        let _ = write!(page, "## {name}\n\n{}.\n\n", about_text(command));
        let mut usage = name.clone();
        let own_args = || command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
        let options = own_args().filter(|arg| !arg.is_positional() && arg.get_id() != "help").count();
        usage.push_str(if options > 0 { " [OPTIONS]" } else { "" });
        for arg in own_args().filter(|arg| arg.is_positional()) {
            usage.push(' ');
            usage.push_str(&value(arg));
        }
        let _ = write!(page, "    {usage}\n\n");
        if own_args().any(|arg| arg.get_id() != "help") {
            page.push_str("| argument | description |\n|---|---|\n");
            own_args().filter(|arg| arg.get_id() != "help").for_each(|arg| row(&mut page, arg));
            page.push('\n');
        }
        let command_examples = examples::for_command(&name);
        if !command_examples.is_empty() {
            page.push_str("| example | description |\n|---|---|\n");
            for (line, description) in command_examples {
                let _ = writeln!(page, "| `{}` | {} |", cell(line), cell(description));
            }
            page.push('\n');
        }
    }
    format!("{}\n", page.trim_end())
}

fn about_text(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    about.unwrap_or_default().trim_end_matches('.').to_owned()
}

fn row(page: &mut String, arg: &Arg) {
    let mut names: Vec<String> = Vec::new();
    names.extend(arg.get_short().map(|short| format!("-{short}")));
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    let mut label = names.join(", ");
    if arg.is_positional() {
        label = value(arg);
    } else if matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        label = format!("{label} {}", value(arg));
    }
    let mut description = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    if arg.get_action().takes_values() {
        let possible = arg.get_possible_values();
        let possible: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
        if !possible.is_empty() {
            let _ = write!(description, " ({})", possible.join(", "));
        }
        let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty() {
            let _ = write!(description, " [default: {}]", default.join(", "));
        }
    }
    let _ = writeln!(page, "| `{}` | {} |", cell(&label), cell(&description));
}

/// Returns the placeholder of an argument, as usage lines show it.
fn value(arg: &Arg) -> String {
    let name = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| arg.get_id().to_string().to_uppercase(), ToString::to_string);
    let many = if matches!(arg.get_action(), ArgAction::Append) && arg.is_positional() { "..." } else { "" };
    match arg.is_required_set() || !arg.is_positional() {
        true => format!("<{name}>{many}"),
        false => format!("[{name}]{many}"),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn command_page_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (generated_page, stored_page) =
        (page(), fs::read_to_string(root.join("docs/command-line.md")).unwrap_or_default());
    if generated_page != stored_page {
        let file = root.join("target/command-line.md");
        fs::create_dir_all(root.join("target")).expect("a folder");
        fs::write(&file, &generated_page).expect("written");
        let differs =
            generated_page.lines().zip(stored_page.lines()).find(|(generated, stored)| generated != stored);
        panic!(
            "docs/command-line.md is stale, first at {differs:?}; cp target/command-line.md docs/command-line.md"
        );
    }
}
