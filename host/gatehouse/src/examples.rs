//! Examples at the end of each command's help. A test parses them, so they always match the commands.

use clap::Command;

/// Command lines, each with a description, which may be empty.
pub(crate) type Examples = &'static [(&'static str, &'static str)];

/// Examples by command. The empty name is `gatehouse` itself.
const EXAMPLES: &[(&str, Examples)] = &[
    (
        "",
        &[
            ("gatehouse serve --http 8642", "serve the presets to many clients"),
            ("gatehouse presets list", "list the presets"),
            ("gatehouse mcp-config full --client cursor", "connect a client"),
            ("gatehouse doctor", "check for problems"),
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
            ("gatehouse map --html map.html", "all presets and their access, for a browser"),
            ("gatehouse map --html map.html --wiki", "with the links between pages"),
            ("gatehouse map --dot --preset full", "one preset, for Graphviz"),
        ],
    ),
    (
        "request",
        &[
            ("gatehouse request --file r.json", "see docs/requests.md for the format"),
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
    ("scripts list", &[("gatehouse scripts list --preset reports", "scripts of clients on this machine")]),
    ("scripts show", &[("gatehouse scripts show weekly_report", "the code and its description")]),
    (
        "scripts run",
        &[("gatehouse scripts run weekly_report '{\"week\": 12}'", "as a caller of the preset would")],
    ),
    (
        "scripts remove",
        &[("gatehouse scripts remove weekly_report --caller token", "a script of a client with a token")],
    ),
    (
        "scripts export",
        &[("gatehouse scripts export weekly_report --to scripts", "scripts/weekly_report.ts")],
    ),
    ("gates list", &[("gatehouse gates list", "names, tools, grants and files")]),
    (
        "gates inspect",
        &[
            ("gatehouse gates inspect kg", "a gate that is served"),
            ("gatehouse gates inspect ./weather.wasm", "a file that is not served"),
        ],
    ),
    (
        "gates add",
        &[
            ("gatehouse gates add ./weather.wasm", "from a file"),
            ("gatehouse gates add oci://ghcr.io/acme/weather:1.2", "from a registry"),
            ("gatehouse gates add", "all missing gates of presets.toml"),
        ],
    ),
    (
        "gates update",
        &[
            ("gatehouse gates update", "all gates that were added by a tag"),
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
            ("gatehouse gates build", "the project in this directory"),
            ("gatehouse gates build weather >> presets.toml", "and add it to presets.toml"),
        ],
    ),
    ("gates check", &[("gatehouse gates check weather.wasm", "before you publish it")]),
    ("gates dev", &[("gatehouse gates dev weather", "until ctrl-c")]),
    ("presets list", &[("gatehouse presets list", "names, gates and descriptions")]),
    ("presets show", &[("gatehouse presets show context", "gates, parameters and tools")]),
    ("presets check", &[("gatehouse presets check", "after an edit of presets.toml")]),
    ("presets cost", &[("gatehouse presets cost", "tokens per preset and tool")]),
    ("allowed-tools", &[("gatehouse allowed-tools context", "for the settings of Claude Code")]),
    (
        "mcp-config",
        &[
            ("gatehouse mcp-config full", "Claude Code, which starts the host"),
            ("gatehouse mcp-config full --http http://127.0.0.1:8642", "a running host"),
            ("gatehouse mcp-config full --client codex", "another client"),
        ],
    ),
    (
        "init",
        &[
            ("gatehouse init --preset context --dry-run", "show what would be written"),
            ("gatehouse init --preset full --skill", "an agent skill, read only when needed"),
            ("gatehouse init --preset context --target agents-md", "AGENTS.md"),
            ("gatehouse init --undo", "remove it"),
        ],
    ),
    ("explain", &[("gatehouse explain kg_edit --preset context", "why this preset does not show it")]),
    (
        "call",
        &[("gatehouse call wiki_idea_search '{\"query\": \"retry\"}' --preset context", "as a client would")],
    ),
    (
        "kg index",
        &[
            ("gatehouse kg index ~/wiki", "add and update the pages of a directory"),
            ("gatehouse kg index ~/wiki --clear", "and remove all others"),
        ],
    ),
    ("kg search", &[("gatehouse kg search 'retry after failure' --top-k 3", "the best three pages")]),
    ("kg get", &[("gatehouse kg get Principle/Retry_With_Backoff", "one full page")]),
    ("kg edit", &[("gatehouse kg edit Principle/Retry_With_Backoff --overview 'Try again later.'", "")]),
    ("kg copy", &[("gatehouse kg copy --from sqlite --to postgres", "DATABASE_URL selects the target")]),
    ("docs add", &[("gatehouse docs add ~/src/project --name project", "index a checkout")]),
    ("docs refresh", &[("gatehouse docs refresh project", "index only changes")]),
    ("docs list", &[("gatehouse docs list", "repositories, documents, age")]),
    ("docs search", &[("gatehouse docs search project 'how are errors logged'", "by words and meaning")]),
    ("docs get", &[("gatehouse docs get project docs/logging.md", "one document")]),
    ("docs guide", &[("gatehouse docs guide project", "an overview for agents")]),
    ("docs remove", &[("gatehouse docs remove project", "the directory stays")]),
    ("servers list", &[("gatehouse servers list", "servers in presets.toml")]),
    ("servers status", &[("gatehouse servers status", "connected, logged in, last error")]),
    ("servers refresh", &[("gatehouse servers refresh github", "after its tools changed")]),
    (
        "servers review",
        &[
            ("gatehouse servers review", "quarantined changes"),
            ("gatehouse servers review github --approve search@4f1c5f4b", "approve one tool"),
            ("gatehouse servers review github --approve '*@9e107d9d'", "approve all shown changes"),
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
            ("gatehouse servers import", "show the servers of other clients"),
            ("gatehouse servers import --from claude-code --write", "write it into presets.toml"),
        ],
    ),
    ("servers login", &[("gatehouse servers login github", "in a browser")]),
    ("servers logout", &[("gatehouse servers logout github", "")]),
    ("tools search", &[("gatehouse tools search 'open an issue' --top-k 3", "in all servers")]),
    ("tools schema", &[("gatehouse tools schema github create_issue", "its arguments")]),
    ("tools recommend", &[("gatehouse tools recommend 'report a bug'", "with reasons")]),
    ("tools call", &[("gatehouse tools call git git_status '{\"repo_path\": \".\"}'", "")]),
    ("tools metrics", &[("gatehouse tools metrics --days 7", "calls, failures, milliseconds")]),
    ("tools alternatives", &[("gatehouse tools alternatives github create_issue", "")]),
    (
        "status",
        &[
            ("gatehouse status --json", "for programs"),
            ("gatehouse status --watch", "hosts, servers and calls, refreshed every two seconds"),
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
            ("gatehouse trust --list", "list trusted files"),
            ("gatehouse trust --remove", "stop trusting it"),
        ],
    ),
    ("backup", &[("gatehouse backup gatehouse.tar.zst", "while hosts run")]),
    ("restore", &[("gatehouse restore gatehouse.tar.zst", "into an empty data directory")]),
    ("schema", &[("gatehouse schema > presets.schema.json", "for an editor")]),
    (
        "completions",
        &[
            ("gatehouse completions bash > ~/.local/share/bash-completion/completions/gatehouse", ""),
            ("gatehouse completions fish > ~/.config/fish/completions/gatehouse.fish", ""),
        ],
    ),
];

pub(crate) fn add_examples(root: Command) -> Command {
    EXAMPLES.iter().fold(root, |root, (path, examples)| {
        let words: Vec<&str> = path.split_whitespace().collect();
        add_help(root, &words, &text(examples))
    })
}

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
    // clap trims the help, and would drop an empty first line.
    format!("Examples:{}", lines.collect::<Vec<_>>().concat())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

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

    /// Splits a line as a shell does, without the redirection.
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
