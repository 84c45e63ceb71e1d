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
    let global: Vec<&Arg> = root.get_arguments().filter(|one| one.is_global_set()).collect();
    page.push_str("| global option | description |\n|---|---|\n");
    global.iter().for_each(|one| row(&mut page, one));
    page.push('\n');
    let mut leaves = examples::leaves(&root, "gatehouse");
    leaves.sort_by_key(|(name, _)| examples::place(name));
    for (name, command) in leaves {
        let _ = write!(page, "## {name}\n\n{}.\n\n", about_text(command));
        let mut usage = name.clone();
        let own = || command.get_arguments().filter(|one| !one.is_global_set() && !one.is_hide_set());
        let options = own().filter(|one| !one.is_positional() && one.get_id() != "help").count();
        usage.push_str(if options > 0 { " [OPTIONS]" } else { "" });
        for one in own().filter(|one| one.is_positional()) {
            usage.push(' ');
            usage.push_str(&value(one));
        }
        let _ = write!(page, "    {usage}\n\n");
        if own().any(|one| one.get_id() != "help") {
            page.push_str("| argument | description |\n|---|---|\n");
            own().filter(|one| one.get_id() != "help").for_each(|one| row(&mut page, one));
            page.push('\n');
        }
        let given = examples::for_command(&name);
        if !given.is_empty() {
            page.push_str("| example | description |\n|---|---|\n");
            for (line, what) in given {
                let _ = writeln!(page, "| `{}` | {} |", cell(line), cell(what));
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

fn row(page: &mut String, one: &Arg) {
    let mut names: Vec<String> = Vec::new();
    names.extend(one.get_short().map(|short| format!("-{short}")));
    names.extend(one.get_long().map(|long| format!("--{long}")));
    let mut shown = names.join(", ");
    if one.is_positional() {
        shown = value(one);
    } else if matches!(one.get_action(), ArgAction::Set | ArgAction::Append) {
        shown = format!("{shown} {}", value(one));
    }
    let mut what = one.get_long_help().or(one.get_help()).map(ToString::to_string).unwrap_or_default();
    if one.get_action().takes_values() {
        let possible = one.get_possible_values();
        let possible: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
        if !possible.is_empty() {
            let _ = write!(what, " ({})", possible.join(", "));
        }
        let default: Vec<_> = one.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty() {
            let _ = write!(what, " [default: {}]", default.join(", "));
        }
    }
    let _ = writeln!(page, "| `{}` | {} |", cell(&shown), cell(&what));
}

/// Returns the placeholder of an argument, as usage lines show it.
fn value(one: &Arg) -> String {
    let name = one
        .get_value_names()
        .and_then(|names| names.first())
        .map_or_else(|| one.get_id().to_string().to_uppercase(), ToString::to_string);
    let many = if matches!(one.get_action(), ArgAction::Append) && one.is_positional() { "..." } else { "" };
    match one.is_required_set() || !one.is_positional() {
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
    let (made, kept) = (page(), fs::read_to_string(root.join("docs/command-line.md")).unwrap_or_default());
    if made != kept {
        let file = root.join("target/command-line.md");
        fs::create_dir_all(root.join("target")).expect("a folder");
        fs::write(&file, &made).expect("written");
        let differs = made.lines().zip(kept.lines()).find(|(made, kept)| made != kept);
        panic!(
            "docs/command-line.md is stale, first at {differs:?}; cp target/command-line.md docs/command-line.md"
        );
    }
}
