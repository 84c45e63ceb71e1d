//! Examples at the end of each command's help. A test parses them, so they always match the commands.

use clap::Command;

/// A command line and its description, which may be empty.
type Example = (&'static str, &'static str);

/// Examples of `gatehouse` itself.
const ROOT_EXAMPLES: [Example; 4] = [
    ("gatehouse serve --http 8642", "serve the presets to many clients"),
    ("gatehouse presets list", "list the presets"),
    ("gatehouse mcp-config full --client cursor", "connect a client"),
    ("gatehouse doctor", "check for problems"),
];

/// Examples of the commands without subcommands, whose names the lines begin with.
const EXAMPLES: &[Example] = &[
    ("gatehouse serve --preset full", "over stdio, for the client that starts it"),
    ("gatehouse serve --http 8642", "over HTTP on this machine: /mcp, /mcp/p/PRESET"),
    ("gatehouse serve --http 0.0.0.0:8642", "for other machines; needs GATEHOUSE_TOKEN"),
    ("gatehouse request --file r.json", "see docs/requests.md for the format"),
    ("gatehouse request --preset gateway", "from standard input"),
    ("gatehouse agent-template git --out .claude/agents/git.md", "for Claude Code"),
    ("gatehouse agent-template git --preset gateway --strategy subprocess", "starts the server each time"),
    ("gatehouse scripts list --preset reports", "scripts of clients on this machine"),
    ("gatehouse scripts show weekly_report", "the code and its description"),
    ("gatehouse scripts run weekly_report '{\"week\": 12}'", "as a caller of the preset would"),
    ("gatehouse scripts remove weekly_report --caller token", "a script of a client with a token"),
    ("gatehouse scripts export weekly_report --to scripts", "scripts/weekly_report.ts"),
    ("gatehouse gates list", "names, tools, grants and files"),
    ("gatehouse gates inspect kg", "a gate that is served"),
    ("gatehouse gates inspect ./weather.wasm", "a file that is not served"),
    ("gatehouse gates add ./weather.wasm", "from a file"),
    ("gatehouse gates add oci://ghcr.io/acme/weather:1.2", "from a registry"),
    ("gatehouse gates add", "all missing gates of presets.toml"),
    ("gatehouse gates update", "all gates that were added by a tag"),
    ("gatehouse gates update weather --tag 2.0", "to another tag"),
    ("gatehouse gates remove weather", "its block, its presets' lines, its file"),
    ("gatehouse gates push weather.wasm oci://ghcr.io/acme/weather:1.2", "publish"),
    ("gatehouse gates new weather", "in Rust"),
    ("gatehouse gates new weather --lang python", "in Python"),
    ("gatehouse gates build", "the project in this directory"),
    ("gatehouse gates build weather >> presets.toml", "and add it to presets.toml"),
    ("gatehouse gates check weather.wasm", "before you publish it"),
    ("gatehouse gates dev weather", "until ctrl-c"),
    ("gatehouse presets list", "names, gates and descriptions"),
    ("gatehouse presets show context", "gates, parameters and tools"),
    ("gatehouse presets check", "after an edit of presets.toml"),
    ("gatehouse presets check --start-servers", "also the tools of servers that were never listed"),
    ("gatehouse presets apply", "after an edit that allows callers more"),
    ("gatehouse presets cost", "tokens per preset and tool"),
    ("gatehouse presets cost --client claude-code --host-tokens 30000", "tokens of a question"),
    ("gatehouse allowed-tools context", "for the settings of Claude Code"),
    ("gatehouse mcp-config full", "Claude Code, which starts the host"),
    ("gatehouse mcp-config full --http http://127.0.0.1:8642", "a running host"),
    ("gatehouse mcp-config full --client codex", "another client"),
    ("gatehouse init --preset context --dry-run", "show what would be written"),
    ("gatehouse init --preset full --skill", "an agent skill, read only when needed"),
    ("gatehouse init --preset context --target agents-md", "AGENTS.md"),
    ("gatehouse init --undo", "remove it"),
    ("gatehouse explain kg_edit --preset context", "why this preset does not show it"),
    ("gatehouse explain kg_edit --as key:ci-1 --group dev", "the access rule that decides for this caller"),
    ("gatehouse call wiki_idea_search '{\"query\": \"retry\"}' --preset context", "as a client would"),
    ("gatehouse kg index ~/wiki", "add and update the pages of a directory"),
    ("gatehouse kg index ~/wiki --clear", "and remove all others"),
    ("gatehouse kg search 'retry after failure' --top-k 3", "the best three pages"),
    ("gatehouse kg get Principle/Retry_With_Backoff", "one full page"),
    ("gatehouse kg edit Principle/Retry_With_Backoff --overview 'Try again later.'", ""),
    ("gatehouse kg copy --from sqlite --to postgres", "DATABASE_URL selects the target"),
    ("gatehouse docs add ~/src/project --name project", "index a checkout"),
    ("gatehouse docs refresh project", "index only changes"),
    ("gatehouse docs list", "repositories, documents, age"),
    ("gatehouse docs search project 'how are errors logged'", "by words and meaning"),
    ("gatehouse docs get project docs/logging.md", "one document"),
    ("gatehouse docs guide project", "an overview for agents"),
    ("gatehouse docs remove project", "the directory stays"),
    ("gatehouse servers list", "servers in presets.toml"),
    ("gatehouse servers status", "connected, logged in, last error"),
    ("gatehouse servers refresh github", "after its tools changed"),
    ("gatehouse servers review", "quarantined changes"),
    ("gatehouse servers review github --approve search@4f1c5f4b", "approve one tool"),
    ("gatehouse servers review github --approve '*@9e107d9d'", "approve all shown changes"),
    ("gatehouse servers search filesystem", "in the registry of the MCP project"),
    ("gatehouse servers add git -- uvx mcp-server-git", "a program"),
    ("gatehouse servers add github --url https://api.githubcopilot.com/mcp/", "an address"),
    ("gatehouse servers add files --from io.github.acme/files@1.2.3", "of a registry"),
    ("gatehouse servers remove git", ""),
    ("gatehouse servers import", "show the servers of other clients"),
    ("gatehouse servers import --from claude-code --write", "write it into presets.toml"),
    ("gatehouse servers import --write --with-secrets", "and their secrets into a private file"),
    ("gatehouse servers env set BRAVE_API_KEY", "reads the value from standard input"),
    ("gatehouse servers env list", "names only"),
    ("gatehouse servers login github", "in a browser"),
    ("gatehouse servers logout github", ""),
    ("gatehouse tools search 'open an issue' --top-k 3", "in all servers"),
    ("gatehouse tools schema github create_issue", "its arguments"),
    ("gatehouse tools recommend 'report a bug'", "with reasons"),
    ("gatehouse tools call git git_status '{\"repo_path\": \".\"}'", ""),
    ("gatehouse tools metrics --days 7", "calls, failures, milliseconds"),
    ("gatehouse tools alternatives github create_issue", ""),
    ("gatehouse keys create ci --group dev --expires 90d", "prints the key once"),
    ("gatehouse keys create ada --preset context --preset proxy", "opens only these presets"),
    ("gatehouse keys list", "names, groups, expiry, last use"),
    ("gatehouse keys rotate ci", "the old secret works for 24 hours"),
    ("gatehouse keys rotate ci --grace 0h", "after a leak"),
    ("gatehouse keys revoke ci", "fails within a second"),
    ("gatehouse audit search --since 7d", "changes and refusals of a week"),
    ("gatehouse audit search --principal key:ann --outcome denied", ""),
    ("gatehouse audit verify", "exit code 1 if an entry was changed"),
    ("gatehouse dashboard", "prints an address for a browser"),
    ("gatehouse dashboard --port 8643 --open", "at the same port each time, in the browser"),
    ("gatehouse approve", "of all hosts on this data directory"),
    ("gatehouse approve --follow", "and about later calls, until ctrl-c"),
    ("gatehouse calls --since 1h --outcome failed", "of all hosts on this data directory"),
    ("gatehouse calls --source github --follow", "as they end, until ctrl-c"),
    ("gatehouse calls 019a3f2e-8d1c-7e3a-b1f4-2f6c9d0e7a55", "its times, and what decided about it"),
    ("gatehouse calls --since 7d --csv --limit 100000 > calls.csv", "for a spreadsheet"),
    ("gatehouse principals list", "names with the data that they store"),
    ("gatehouse principals show key:ann", "artifacts, values, quotas"),
    ("gatehouse principals erase key:ann", "asks first"),
    ("gatehouse quotas", "use of each person today"),
    ("gatehouse quotas --principal key:ann", "of one person"),
    ("gatehouse status --json", "for programs"),
    ("gatehouse status --watch", "hosts, servers and calls, refreshed every two seconds"),
    ("gatehouse cache size", ""),
    ("gatehouse cache clean", ""),
    ("gatehouse doctor", "configuration, gates, servers, models, databases"),
    ("gatehouse doctor -v", "the environment variables too"),
    ("gatehouse trust", "./presets.toml, as it is now"),
    ("gatehouse trust --list", "list trusted files"),
    ("gatehouse trust --remove", "stop trusting it"),
    ("gatehouse backup gatehouse.tar.zst", "while hosts run"),
    ("gatehouse restore gatehouse.tar.zst", "into an empty data directory"),
    ("gatehouse schema > presets.schema.json", "for an editor"),
    ("gatehouse completions bash > ~/.local/share/bash-completion/completions/gatehouse", ""),
    ("gatehouse completions fish > ~/.config/fish/completions/gatehouse.fish", ""),
];

/// Adds its examples to each command.
pub(crate) fn add_examples(root: Command) -> Command {
    add_below(root, "gatehouse").after_help(text(&ROOT_EXAMPLES))
}

fn add_below(command: Command, path: &str) -> Command {
    let command = command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        add_below(below, &path)
    });
    match for_command(path).as_slice() {
        examples if !examples.is_empty() && !command.has_subcommands() => command.after_help(text(examples)),
        _ => command,
    }
}

pub(crate) fn for_command(path: &str) -> Vec<Example> {
    EXAMPLES.iter().copied().filter(|(line, _)| is_for(line, path)).collect()
}

/// Returns the place of a command in the documentation.
#[cfg(test)]
pub(crate) fn place(path: &str) -> Option<usize> {
    EXAMPLES.iter().position(|(line, _)| is_for(line, path))
}

/// Returns the commands without subcommands, by their full names.
#[cfg(test)]
pub(crate) fn leaves<'a>(command: &'a Command, path: &str) -> Vec<(String, &'a Command)> {
    let below = command
        .get_subcommands()
        .filter(|subcommand| subcommand.get_name() != "help" && !subcommand.is_hide_set());
    let below: Vec<_> = below
        .flat_map(|subcommand| leaves(subcommand, &format!("{path} {}", subcommand.get_name())))
        .collect();
    if below.is_empty() { vec![(path.to_owned(), command)] } else { below }
}

fn is_for(line: &str, path: &str) -> bool {
    line.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn text(examples: &[Example]) -> String {
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
        let root = Cli::command();
        let mut examples = Vec::new();
        for (path, _) in leaves(&root, "gatehouse") {
            let own = for_command(&path);
            assert!(!own.is_empty(), "{path}");
            examples.push(own);
        }
        assert_eq!(examples.iter().flatten().count(), EXAMPLES.len(), "each is of one command");
        for (line, _) in ROOT_EXAMPLES.iter().chain(EXAMPLES) {
            let parsed = add_examples(Cli::command()).try_get_matches_from(words(line));
            assert!(parsed.is_ok(), "{line}: {:?}", parsed.map(drop));
        }
        for examples in examples.iter().map(Vec::as_slice).chain([&ROOT_EXAMPLES[..]]) {
            assert!(text(examples).lines().all(|line| line.chars().count() <= 100), "{}", text(examples));
        }
    }
}
