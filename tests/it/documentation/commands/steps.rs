//! What the reader of a page does between two commands, and configurations that a page only describes.

/// A gate project, as after the page that makes one.
const WEATHER: &str =
    "gatehouse gates new weather --lang python; cd weather; python3 -m venv .venv; gatehouse gates build";

/// A script that a page's reader has run before a command: page, start of the command (or "" for the whole page), script.
/// `$FENCES/N.toml` is the page's Nth configuration.
pub(super) const BEFORE: &[(&str, &str, &str)] = &[
    ("docs/backup.md", "", "gatehouse kg index docs/sample-wiki; gatehouse keys create ann"),
    ("docs/backup.md", "gatehouse restore ~/gatehouse.tar  ", "mv ~/.local/share/gatehouse ~/before"),
    ("docs/clients.md", "claude mcp add --transport http", "claude mcp remove gatehouse"),
    ("docs/clients.md", "", "gatehouse kg index docs/sample-wiki; mkdir my-project"),
    ("docs/debugging-gates.md", "gatehouse call convert '", WEATHER),
    ("docs/debugging-gates.md", "gatehouse call convert -", "echo '{\"celsius\": 7.5}' > call.json"),
    ("docs/debugging-gates.md", "gatehouse gates check echo.wasm", "cd ~"),
    ("docs/gate-reference.md", "", WEATHER),
    (
        "docs/operating.md",
        "",
        "cp $FENCES/audit.toml ~/.config/gatehouse/presets.toml; gatehouse kg index docs/sample-wiki",
    ),
    ("docs/operating.md", "GATEHOUSE_TOKEN=", "openssl rand -hex 32 > ~/.config/gatehouse/token"),
    ("docs/operating.md", "gatehouse audit search", CHANGE_A_PAGE),
    ("docs/performance.md", "", "gatehouse servers import --write; gatehouse docs add docs/sample-wiki"),
    ("docs/postgresql.md", "createdb", "createdb library"),
    ("docs/presets.md", "", "cp $FENCES/1.toml ~/.config/gatehouse/presets.toml"),
    (
        "docs/presets.md",
        "gatehouse explain kg_edit --preset reader",
        "cp $FENCES/2.toml ~/.config/gatehouse/presets.toml",
    ),
    ("docs/presets.md", "gatehouse presets check", ""),
    (
        "docs/presets.md",
        "gatehouse presets check",
        "cp $FENCES/misspelled.toml ~/.config/gatehouse/presets.toml",
    ),
    ("docs/presets.md", "gatehouse init", "cp $FENCES/team.toml ~/.config/gatehouse/presets.toml"),
    ("docs/presets.md", "gatehouse serve", "mkdir -p clone/.git; echo > clone/presets.toml; cd clone"),
    (
        "docs/proxy.md",
        "gatehouse explain memory",
        "cp $FENCES/proxied.toml ~/.config/gatehouse/presets.toml; gatehouse servers refresh memory",
    ),
    ("docs/team.md", "", "cp $FENCES/1.toml ~/.config/gatehouse/presets.toml"),
    ("docs/team.md", "claude mcp add", "KEY=$(gatehouse keys rotate ann --json | cut -d '\"' -f 4)"),
    ("docs/telemetry.md", "", "cp $FENCES/1.toml ~/.config/gatehouse/presets.toml"),
    ("docs/team-presets.md", "", "mkdir -p clone/gates; cd clone; cp $FENCES/1.toml presets.toml"),
    ("docs/upgrading.md", "", "gatehouse kg index docs/sample-wiki"),
    ("docs/write-a-gate.md", "gatehouse presets check", MISSPELL_A_PARAMETER),
];

/// Configurations that pages describe without showing all of them.
pub(super) const CONFIGURATIONS: [(&str, &str); 4] = [
    ("audit", "[audit]\nenabled = true\n"),
    (
        "misspelled",
        "[gates.kg]\ngrants = [\"knowledge\"]\n[presets.reader]\ngates.kg = {}\ndeny = [\"kgg_*\"]\n",
    ),
    (
        "team",
        "[presets.team]\nextends = [\"full\"]\nskills = [\"skills\"]\n[presets.careful]\nextends = [\"full\"]\n\
         approve = { tools = [\"kg_edit\"], remember = \"15 min\" }\n",
    ),
    (
        "proxied",
        "[presets.work]\nextends = [\"proxy\"]\n[servers.memory]\ncommand = \"mcp-server-memory\"\n[servers.brave]\n\
         command = \"brave-mcp\"\nenv = { BRAVE_API_KEY = \"${BRAVE_API_KEY}\" }\n",
    ),
];

const CHANGE_A_PAGE: &str = "gatehouse call kg_edit --preset full \
    '{\"page_id\": \"Heuristic/Deadline_Inside_Retry\", \"updates\": {\"overview\": \"Shorter.\"}}'";

const MISSPELL_A_PARAMETER: &str =
    "sed -i 's/^gates.weather = .*/gates.weather = { unit = \"metric\" }/' presets.toml; gatehouse trust";
