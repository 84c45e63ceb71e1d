//! Lines of the section that explain scripts, large results and unlisted tools. A line is present only if the preset
//! has its tool.

use gatehouse_core::catalog::ToolEntry;

use super::section::SectionContext;

impl SectionContext<'_> {
    pub(super) fn lessons(&self) -> Vec<String> {
        [self.scripts(), self.large_results(), self.unlisted_tools()].into_iter().flatten().collect()
    }

    /// Returns the name that clients see, for a listed tool that its source declares under this name.
    pub(super) fn exposed_name(&self, declared: &str) -> Option<String> {
        let is_it = |entry: &&std::sync::Arc<ToolEntry>| entry.listed && *entry.id.name == *declared;
        self.catalog.in_gate_order().into_iter().find(is_it).map(|entry| entry.name.to_string())
    }

    fn scripts(&self) -> Option<String> {
        let run = self.exposed_name("run_code")?;
        let types = self
            .exposed_name("tool_types")
            .map_or_else(String::new, |types| format!("- `{types}` declares what scripts can call.\n"));
        Some(format!(
            "- Several calls are one `{run}` script: `return (await callMCPTool(\"server\", \"tool\", {{}})).items.length`.\n\
             - Only the returned value reaches you.\n{types}"
        ))
    }

    fn large_results(&self) -> Option<String> {
        let read = self.exposed_name("get_workspace_file")?;
        let search = self
            .exposed_name("semantic_search")
            .map_or_else(String::new, |search| format!("- `{search}` finds stored results.\n"));
        Some(format!(
            "- Large results arrive shortened and are stored in full: never repeat the call.\n\
            - `{read}` reads a part (`jq`, `lines`).\n\
            {search}"
        ))
    }

    fn unlisted_tools(&self) -> Option<String> {
        if let (Some(search), Some(call)) =
            (self.exposed_name("search_tools"), self.exposed_name("call_tool"))
        {
            let schema = self
                .exposed_name("get_tool_schema")
                .map_or_else(String::new, |schema| format!("- `{schema}` shows arguments.\n"));
            return Some(format!("- `{search}` finds more tools by task.\n{schema}- `{call}` calls one.\n"));
        }
        let request = self.exposed_name("request")?;
        self.catalog.entries().iter().find(|entry| *entry.id.name == *"search_tools")?;
        Some(format!(
            "- `{request}` runs every tool. Find one first: `{{\"intent\": \"QUERY\", \"action\": \"search_tools\", \
            \"params\": {{\"query\": \"the task in a few words\"}}}}`.\n\
            - `action` is then the tool, or `server/tool`; `params` are its arguments.\n\
            - Send MODIFY to change something, EXECUTE for anything else.\n"
        ))
    }
}
