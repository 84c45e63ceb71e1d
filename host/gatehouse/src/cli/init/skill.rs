//! The agent skill: longer than the section of a project file, because an agent reads it only when needed.

use std::fmt::Write as _;

use super::section::SectionContext;

/// Start of the file. Agents see only the description until they open the skill.
pub(super) const HEAD: &str = "---\nname: gatehouse\ndescription: Tools of the Gatehouse gateway, and how to call \
    many of them in one script, read a result that was shortened, and find and call tools that are not listed. Use \
    it before the first call of one of its tools, and when a result was shortened.\n\
    ---\n\n";

/// Tools of the shipped gates that need explanation, by declared name, in the order of use.
const STORED_RESULT_TOOLS: [(&str, &str); 4] = [
    (
        "get_workspace_file",
        "reads a part of a stored result: `jq` or `json_pointer` for JSON, `lines` or `offset` for text. Read only \
        the part that the question needs.",
    ),
    ("semantic_search", "finds stored results by meaning."),
    ("search_workspace", "lists them, newest first."),
    ("get_artifact_context", "returns the summaries of several."),
];

const SCRIPT_TOOLS: [(&str, &str); 3] = [
    ("tool_types", "declares the functions that a script can call, best matches for `query` first."),
    ("save_script", "stores a script that worked, under a name."),
    ("run_script", "runs a stored script with other `input`."),
];

fn scripts(run: &str) -> String {
    format!(
        "\n\n### Scripts\n\n`{run}` runs TypeScript that calls the other tools. Ten calls and a filter cost the script and what \
         it returns, not ten results:\n\n```ts\n\
         const found = await callMCPTool(\"tracker\", \"list_issues\", {{ state: \"open\" }});\n\
         const whole = await Promise.all(found.items.map((issue) => tools.tracker.get_issue({{ id: issue.id }})));\n\
         return whole.filter((issue) => issue.labels.includes(\"bug\")).map((issue) => issue.title);\n```\n\n\
         - `tools.<source>.<tool>(args)` and `callMCPTool(server, tool, args)` are the same call.\n\
         - A call that fails throws an `Error` with `type` and `suggestion`.\n\
         - Return only what you need. There is no `fetch`, no `require` and no file."
    )
}

const SEARCH_TOOLS: [(&str, &str); 3] = [
    ("search_tools", "finds tools by task; describe the task in a few words, without the name of a server."),
    ("get_tool_schema", "returns the arguments of a tool; read it before the first call."),
    ("call_tool", "calls the tool. An error names other tools that may help."),
];

impl SectionContext<'_> {
    pub(super) fn skill(&self) -> String {
        let mut text = self.section();
        if let Some(run) = self.exposed_name("run_code") {
            text.push_str(&scripts(run));
            self.add_tools(&mut text, "", &SCRIPT_TOOLS);
        }
        let head = "### Shortened results\n\nA large result arrives shortened, with `metadata.artifactId`. The full \
            result is stored for some hours, and costs nothing until you read it: never repeat a call to see more.\n\n";
        self.add_tools(&mut text, head, &STORED_RESULT_TOOLS);
        let head = "### Tools that are not listed\n\nThe gateway has more MCP servers. Their tools cost nothing until \
            you find them:\n\n";
        self.add_tools(&mut text, head, &SEARCH_TOOLS);
        text.trim_end().to_owned()
    }

    /// Adds lines about those tools that the preset has, after `head`. Adds nothing if it has none.
    fn add_tools(&self, text: &mut String, head: &str, tools: &[(&str, &str)]) {
        let named = tools.iter().filter_map(|(declared, what)| Some((self.exposed_name(declared)?, what)));
        let lines: Vec<String> = named.map(|(name, what)| format!("- `{name}` {what}")).collect();
        if !lines.is_empty() {
            let _ = write!(text, "\n\n{head}{}", lines.join("\n"));
        }
    }
}
