//! What a skill tells an agent: more than the section of a project's file, because it is read only when it is needed.

use std::fmt::Write as _;

use super::section::SectionContext;

/// What the file begins with. Agents see the description alone until they open the skill.
pub(super) const HEAD: &str = "---\n\
    name: gatehouse\n\
    description: Which tools the Gatehouse gateway has here, how to call many of them in one script, how to read a result \
    that it cut short, and how to find and call tools that are not listed. Use it before the first call of one of its tools, and when a result says that \
    more of it was kept.\n\
    ---\n\n";

/// Tools of the shipped gates that need more than their description says, by the names that the gates declare, in the order
/// in which one needs them.
const STORED_RESULT_TOOLS: [(&str, &str); 4] = [
    (
        "get_workspace_file",
        "brings a part of a kept result: `jq` or `json_pointer` for JSON, `lines` or `offset` for text. Ask for the part \
         that the question needs.",
    ),
    ("semantic_search", "finds kept results by meaning."),
    ("search_workspace", "lists them, newest first."),
    ("get_artifact_context", "gives the summaries of several at once."),
];

const SCRIPT_TOOLS: [(&str, &str); 3] = [
    ("tool_types", "declares the functions that a script can call, best matches for `query` first."),
    ("save_script", "keeps a script that worked, under a name."),
    ("run_script", "runs a kept one with other `input`."),
];

/// How to write a script.
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
    ("search_tools", "finds tools by what they do; say the task in a few words, not the name of a server."),
    ("get_tool_schema", "gives the arguments of one; read it before the first call."),
    ("call_tool", "calls it. A fault names other tools that may help."),
];

impl SectionContext<'_> {
    /// The skill: the section, then how to write scripts and how to work with kept results and with tools that are found.
    pub(super) fn skill(&self) -> String {
        let mut text = self.section();
        if let Some(run) = self.exposed_name("run_code") {
            text.push_str(&scripts(&run));
            let told = self.render_tools(&SCRIPT_TOOLS);
            if !told.is_empty() {
                let _ = write!(text, "\n\n{told}");
            }
        }
        let told = self.render_tools(&STORED_RESULT_TOOLS);
        if !told.is_empty() {
            let _ = write!(
                text,
                "\n\n### Results that were cut\n\nA large result arrives in short, with `metadata.artifactId`. The whole is \
                 kept for some hours, and costs nothing until you read it: never make the same call again to see more.\n\n\
                 {told}"
            );
        }
        let told = self.render_tools(&SEARCH_TOOLS);
        if !told.is_empty() {
            let _ = write!(
                text,
                "\n\n### Tools that are not listed\n\nOther MCP servers stand behind this one. Their tools cost nothing until \
                 they are found:\n\n{told}"
            );
        }
        text.trim_end().to_owned()
    }

    fn render_tools(&self, tools: &[(&str, &str)]) -> String {
        let mut told = String::new();
        for (declared, what) in tools {
            let mut entries = self.catalog.in_gate_order().into_iter();
            if let Some(entry) = entries.find(|entry| entry.listed && *entry.id.name == **declared) {
                let _ = writeln!(told, "- `{}` {what}", entry.name);
            }
        }
        told.trim_end().to_owned()
    }
}
