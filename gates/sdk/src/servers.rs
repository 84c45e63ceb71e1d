//! The MCP servers behind the host, as far as the caller's preset lets its gates reach them: what it denies or hides is
//! unknown. Servers are started by the first function that needs them to be. Needs the grant `servers`.
//!
//! ```
//! use gatehouse_sdk::{Fault, Reply, servers, testing};
//!
//! fn first_issue() -> Result<Reply, Fault> {
//!     servers::call("github", "list_issues", "{\"limit\":1}")
//! }
//!
//! // In a test:
//! let host = testing::Fake::new().server_call(|server, tool, arguments| {
//!     assert_eq!((server, tool, arguments), ("github", "list_issues", "{\"limit\":1}"));
//!     Ok(Reply::markdown("#1"))
//! });
//! assert_eq!(host.run(first_issue).unwrap().text(), "#1");
//! ```

use crate::Reply;
pub use crate::bindings::gatehouse::gate::{
    servers::{
        Advice, Alternative, Circuit, MetricsFilter, RefreshReport, RelatedTool, Server, ServerTool, State,
        ToolHit, ToolMetrics, ToolSearch, ToolsFound,
    },
    types::Fit,
};

host_functions! {
    servers:

    /// Every server that the caller may reach, by name. Starts none.
    fn servers as server_list() -> Vec<Server>;

    /// The tools of one server, by name.
    ///
    /// # Errors
    /// `not-found` with the nearest names where there is no such server, `unavailable` where it cannot be connected.
    fn tools as server_tools(server: &str) -> Vec<ServerTool>;

    /// One tool.
    ///
    /// # Errors
    /// Those of [`tools`], `not-found` with the nearest names where the server has no such tool, `denied` where it is held back.
    fn tool as server_tool(server: &str, name: &str) -> ServerTool;

    /// Calls a tool for the caller, through the same checks as if the caller had called it. `arguments` is a JSON object.
    /// Counted with the calls of [`crate::catalog`]. A tool may call no tool with a stronger effect than its own.
    fn call as server_call(server: &str, tool: &str, arguments: &str) -> Reply;

    /// [`call`] that may take so many milliseconds at most; never more than is left of the deadline.
    fn call_within as server_call_within(server: &str, tool: &str, arguments: &str, timeout_ms: u64) -> Reply;

    /// [`call_within`] over a connection of its own: the server is started for this call and ended with it.
    fn call_apart as server_call_apart(server: &str, tool: &str, arguments: &str, timeout_ms: u64) -> Reply;

    /// Has a server that was never asked say what it lists, over a connection that ends with this; nothing where it is known.
    fn learn as server_learn(server: &str) -> ();

    /// Whether the calls of a server had better share a connection or be made apart, and why.
    fn advise as server_advise(server: &str) -> Advice;

    /// Searches the tools of all servers that the caller may reach.
    fn search as server_search(query: &ToolSearch) -> ToolsFound;

    /// How calls went, by tool.
    fn metrics as server_metrics(filter: &MetricsFilter) -> Vec<ToolMetrics>;

    /// What may be called instead of a tool, best first. `error` is what it failed with.
    fn alternatives as server_alternatives(server: &str, tool: &str, error: Option<&str>, limit: u32) -> Vec<Alternative>;

    /// What is usually called after a tool, or beside it; empty where too little was seen.
    fn related as server_related(server: &str, tool: &str, limit: u32) -> Vec<RelatedTool>;

    /// Asks servers anew what they list: one, or all.
    fn refresh as server_refresh(server: Option<&str>, force: bool) -> RefreshReport;
}

impl MetricsFilter {
    /// Every call that the caller may make.
    pub fn all() -> Self {
        Self { server: None, tool: None, days: None }
    }
}
