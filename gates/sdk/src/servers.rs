//! The MCP servers behind the host that the caller's preset makes available to its gates. Servers that it denies or
//! hides are unknown. A server starts when a function needs it. Needs the grant `servers`.
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

    /// Returns the available servers, sorted by name, without starting any.
    fn servers as server_list() -> Vec<Server>;

    /// Returns the tools of a server, sorted by name.
    ///
    /// # Errors
    /// `not-found` with similar names if the server does not exist, `unavailable` if the connection fails.
    fn tools as server_tools(server: &str) -> Vec<ServerTool>;

    /// Returns one tool.
    ///
    /// # Errors
    /// Those of [`tools`], `not-found` with similar names if the tool does not exist, `denied` if it is quarantined.
    fn tool as server_tool(server: &str, name: &str) -> ServerTool;

    /// Calls a tool on behalf of the caller, with the same checks as a direct call. `arguments` is a JSON object.
    /// Shares the call limit with [`crate::catalog`]. A tool cannot call a tool with a stronger effect than its own.
    fn call as server_call(server: &str, tool: &str, arguments: &str) -> Reply;

    /// Like [`call`], with an additional timeout.
    fn call_within as server_call_within(server: &str, tool: &str, arguments: &str, timeout_ms: u64) -> Reply;

    /// Like [`call_within`], over a separate connection: the server is started for this call and stopped after it.
    fn call_apart as server_call_apart(server: &str, tool: &str, arguments: &str, timeout_ms: u64) -> Reply;

    /// Lists the tools of a new server over a temporary connection. Does nothing if they are known.
    fn learn as server_learn(server: &str) -> ();

    /// Recommends a shared or a separate connection for a server.
    fn advise as server_advise(server: &str) -> Advice;

    /// Searches the tools of all available servers.
    fn search as server_search(query: &ToolSearch) -> ToolsFound;

    /// Returns call statistics per tool.
    fn metrics as server_metrics(filter: &MetricsFilter) -> Vec<ToolMetrics>;

    /// Returns replacements for a tool, best first. `error` is the tool's error.
    fn alternatives as server_alternatives(server: &str, tool: &str, error: Option<&str>, limit: u32) -> Vec<Alternative>;

    /// Returns tools usually called after a tool or together with it; empty without enough data.
    fn related as server_related(server: &str, tool: &str, limit: u32) -> Vec<RelatedTool>;

    /// Lists the tools of one server or all servers again. `force` also rewrites unchanged tools.
    fn refresh as server_refresh(server: Option<&str>, force: bool) -> RefreshReport;
}

impl MetricsFilter {
    /// Matches every call that the caller may make.
    pub fn all() -> Self {
        Self { server: None, tool: None, days: None }
    }
}
