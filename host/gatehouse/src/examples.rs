//! Examples, which the help of each command ends with. A test runs them through the parser, so none of them is a
//! command that there is not.

use clap::Command;

/// Lines to type, each with what it does.
pub(crate) type Examples = &'static [(&'static str, &'static str)];

/// By the words of the command; none for `gatehouse` itself.
const EXAMPLES: &[(&str, Examples)] = &[
    (
        "",
        &[
            ("gatehouse serve --http 8642", "serve the presets to many clients"),
            ("gatehouse presets list", "what there is to serve"),
            ("gatehouse mcp-config full --client cursor", "connect a client"),
            ("gatehouse doctor", "look for what is wrong"),
        ],
    ),
    (
        "serve",
        &[
            ("gatehouse serve --preset full", "over stdio, for the client that starts it"),
            ("gatehouse serve --http 8642", "over HTTP on this machine: /mcp, /mcp/p/PRESET"),
            ("gatehouse serve --http 0.0.0.0:8642", "for other machines; needs GATEHOUSE_TOKEN"),
        ],
    ),
    (
        "map",
        &[
            ("gatehouse map --html map.html", "every preset and all that it reaches, for a browser"),
            ("gatehouse map --html map.html --wiki", "the links between pages, too"),
            ("gatehouse map --dot --preset full", "one of them, for Graphviz"),
        ],
    ),
    (
        "request",
        &[
            ("gatehouse request --file r.json", "see docs/requests.md for what a request has"),
            ("gatehouse request --preset gateway", "from standard input"),
        ],
    ),
    (
        "agent-template",
        &[
            ("gatehouse agent-template git --out .claude/agents/git.md", "for Claude Code"),
            ("gatehouse agent-template git --strategy subprocess", "starts the server each time"),
        ],
    ),
    ("scripts list", &[("gatehouse scripts list --preset reports", "of the clients of this machine")]),
    ("scripts show", &[("gatehouse scripts show weekly_report", "the code, with what is said of it")]),
    (
        "scripts run",
        &[("gatehouse scripts run weekly_report '{\"week\": 12}'", "through the preset, as its caller")],
    ),
    (
        "scripts remove",
        &[("gatehouse scripts remove weekly_report --caller token", "of a client with a token")],
    ),
    (
        "scripts export",
        &[("gatehouse scripts export weekly_report --to scripts", "scripts/weekly_report.ts")],
    ),
    ("gates list", &[("gatehouse gates list", "names, tools, and where each is from")]),
    (
        "gates inspect",
        &[
            ("gatehouse gates inspect kg", "a gate that is served"),
            ("gatehouse gates inspect ./weather.wasm", "a file that nobody serves yet"),
        ],
    ),
    (
        "gates add",
        &[
            ("gatehouse gates add ./weather.wasm", "from a file"),
            ("gatehouse gates add oci://ghcr.io/acme/weather:1.2", "from a registry"),
            ("gatehouse gates add", "what presets.toml names and is missing"),
        ],
    ),
    (
        "gates update",
        &[
            ("gatehouse gates update", "all that were added by a tag"),
            ("gatehouse gates update weather --tag 2.0", "to another tag"),
        ],
    ),
    ("gates remove", &[("gatehouse gates remove weather", "its block, its presets' lines, its file")]),
    ("gates push", &[("gatehouse gates push weather.wasm oci://ghcr.io/acme/weather:1.2", "publish")]),
    (
        "gates new",
        &[
            ("gatehouse gates new weather", "in Rust"),
            ("gatehouse gates new weather --lang python", "in Python"),
        ],
    ),
    (
        "gates build",
        &[
            ("gatehouse gates build", "the project of this folder"),
            ("gatehouse gates build weather >> presets.toml", "and let it be served"),
        ],
    ),
    ("gates check", &[("gatehouse gates check weather.wasm", "before you publish it")]),
    ("gates dev", &[("gatehouse gates dev weather", "until ctrl-c")]),
    ("presets list", &[("gatehouse presets list", "names, gates, what each is for")]),
    ("presets show", &[("gatehouse presets show context", "gates, parameters and tools")]),
    ("presets check", &[("gatehouse presets check", "after an edit of presets.toml")]),
    ("presets cost", &[("gatehouse presets cost", "what each preset takes of a context")]),
    ("allowed-tools", &[("gatehouse allowed-tools context", "for the settings of Claude Code")]),
    (
        "mcp-config",
        &[
            ("gatehouse mcp-config full", "Claude Code, which starts the host"),
            ("gatehouse mcp-config full --http http://127.0.0.1:8642", "a host that runs already"),
            ("gatehouse mcp-config full --client codex", "another client"),
        ],
    ),
    (
        "init",
        &[
            ("gatehouse init --preset context --dry-run", "show what would be written"),
            ("gatehouse init --preset full --skill", "an agent skill, read when it is needed"),
            ("gatehouse init --preset context --target agents-md", "AGENTS.md"),
            ("gatehouse init --undo", "take it out again"),
        ],
    ),
    ("explain", &[("gatehouse explain kg_edit --preset context", "why this preset does not show it")]),
    (
        "call",
        &[(
            "gatehouse call wiki_idea_search '{\"query\": \"retry\"}' --preset context",
            "as a client of it would",
        )],
    ),
    (
        "kg index",
        &[
            ("gatehouse kg index ~/wiki", "add and update the pages of a folder"),
            ("gatehouse kg index ~/wiki --clear", "and forget all others"),
        ],
    ),
    ("kg search", &[("gatehouse kg search 'retry after failure' --top-k 3", "the best three pages")]),
    ("kg get", &[("gatehouse kg get Principle/Retry_With_Backoff", "one page, whole")]),
    ("kg edit", &[("gatehouse kg edit Principle/Retry_With_Backoff --overview 'Try again later.'", "")]),
    ("kg copy", &[("gatehouse kg copy --from sqlite --to postgres", "DATABASE_URL says where to")]),
    ("docs add", &[("gatehouse docs add ~/src/project --name project", "index a checkout")]),
    ("docs refresh", &[("gatehouse docs refresh project", "what changed since")]),
    ("docs list", &[("gatehouse docs list", "repositories, documents, age")]),
    ("docs search", &[("gatehouse docs search project 'how are errors logged'", "by words and meaning")]),
    ("docs get", &[("gatehouse docs get project docs/logging.md", "one document")]),
    ("docs guide", &[("gatehouse docs guide project", "what an agent reads first")]),
    ("docs remove", &[("gatehouse docs remove project", "the folder stays")]),
    ("servers list", &[("gatehouse servers list", "what presets.toml declares")]),
    ("servers status", &[("gatehouse servers status", "connected, logged in, last error")]),
    ("servers refresh", &[("gatehouse servers refresh github", "after it got new tools")]),
    (
        "servers review",
        &[
            ("gatehouse servers review", "what is held back, and what changed"),
            ("gatehouse servers review github --approve search@4f1c5f4b", "serve it again"),
            ("gatehouse servers review github --approve '*@9e107d9d'", "serve all that was shown"),
        ],
    ),
    (
        "servers add",
        &[
            ("gatehouse servers add git -- uvx mcp-server-git", "a program"),
            ("gatehouse servers add github --url https://api.githubcopilot.com/mcp/", "an address"),
        ],
    ),
    ("servers remove", &[("gatehouse servers remove git", "")]),
    (
        "servers import",
        &[
            ("gatehouse servers import", "show what other clients have"),
            ("gatehouse servers import --from claude-code --write", "write it into presets.toml"),
        ],
    ),
    ("servers login", &[("gatehouse servers login github", "in a browser")]),
    ("servers logout", &[("gatehouse servers logout github", "")]),
    ("tools search", &[("gatehouse tools search 'open an issue' --top-k 3", "over all servers")]),
    ("tools schema", &[("gatehouse tools schema github create_issue", "what it takes")]),
    ("tools recommend", &[("gatehouse tools recommend 'report a bug'", "and why")]),
    ("tools call", &[("gatehouse tools call git git_status '{\"repo_path\": \".\"}'", "")]),
    ("tools metrics", &[("gatehouse tools metrics --days 7", "calls, failures, milliseconds")]),
    ("tools alternatives", &[("gatehouse tools alternatives github create_issue", "")]),
    (
        "status",
        &[
            ("gatehouse status --json", "for programs"),
            ("gatehouse status --watch", "hosts, servers and calls, drawn anew every two seconds"),
        ],
    ),
    ("cache size", &[("gatehouse cache size", "")]),
    ("cache clean", &[("gatehouse cache clean", "")]),
    (
        "doctor",
        &[
            ("gatehouse doctor", "configuration, gates, servers, models, databases"),
            ("gatehouse doctor -v", "the environment variables too"),
        ],
    ),
    (
        "trust",
        &[
            ("gatehouse trust", "./presets.toml, as it is now"),
            ("gatehouse trust --list", "what is trusted"),
            ("gatehouse trust --remove", "no more"),
        ],
    ),
    ("backup", &[("gatehouse backup gatehouse.tar.zst", "while hosts run")]),
    ("restore", &[("gatehouse restore gatehouse.tar.zst", "in the place of what is there")]),
    ("schema", &[("gatehouse schema > presets.schema.json", "for an editor")]),
    (
        "completions",
        &[
            ("gatehouse completions bash > ~/.local/share/bash-completion/completions/gatehouse", ""),
            ("gatehouse completions fish > ~/.config/fish/completions/gatehouse.fish", ""),
        ],
    ),
];

/// The command line with its examples.
pub(crate) fn add_examples(root: Command) -> Command {
    EXAMPLES.iter().fold(root, |root, (path, examples)| {
        let words: Vec<&str> = path.split_whitespace().collect();
        add_help(root, &words, &text(examples))
    })
}

/// The examples of a command, by its words.
#[cfg(test)]
pub(crate) fn for_command(path: &str) -> Examples {
    EXAMPLES.iter().find(|(of, _)| *of == path).map_or(&[], |(_, examples)| examples)
}

fn add_help(command: Command, path: &[&str], text: &str) -> Command {
    match path {
        [] => command.after_help(text.to_owned()),
        [name, rest @ ..] => command.mut_subcommand(name, |below| add_help(below, rest, text)),
    }
}

fn text(examples: Examples) -> String {
    let width = examples.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let lines =
        examples.iter().map(|(line, what)| format!("\n  {line:<width$}  {what}").trim_end().to_owned());
    // Trimming takes the line break of an empty line with it, of which there is none.
    format!("Examples:{}", lines.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// The commands that do something, by their words.
    fn leaves(command: &Command, path: &str, into: &mut Vec<String>) {
        let below: Vec<&Command> = command
            .get_subcommands()
            .filter(|below| below.get_name() != "help" && !below.is_hide_set())
            .collect();
        if below.is_empty() {
            into.push(path.to_owned());
        }
        below.iter().for_each(|below| leaves(below, format!("{path} {}", below.get_name()).trim(), into));
    }

    /// The words of a line as a shell parts them; what goes into a file is left out.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(" >").next().unwrap_or(line);
        let parts = line.split('\'').enumerate();
        let quoted = |(at, part): (usize, &str)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        };
        parts.flat_map(quoted).collect()
    }

    #[test]
    fn every_command_has_examples_and_every_example_is_a_command() {
        let mut commands = Vec::new();
        leaves(&Cli::command(), "", &mut commands);
        let mut with_examples: Vec<&str> =
            EXAMPLES.iter().map(|(path, _)| *path).filter(|path| !path.is_empty()).collect();
        commands.sort();
        with_examples.sort_unstable();
        assert_eq!(commands, with_examples);
        for (path, examples) in EXAMPLES {
            for (line, _) in *examples {
                assert!(line.starts_with(format!("gatehouse {path}").trim()), "{path}: {line}");
                let parsed = add_examples(Cli::command()).try_get_matches_from(words(line));
                assert!(parsed.is_ok(), "{line}: {:?}", parsed.map(drop));
            }
            assert!(text(examples).lines().all(|line| line.chars().count() <= 100), "{}", text(examples));
        }
    }
}
