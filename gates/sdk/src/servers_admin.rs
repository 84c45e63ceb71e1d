//! Changes to the MCP servers behind the host, for all presets. A gate that has this can have the host run programs. Needs
//! the grant `servers-admin`.

pub use crate::bindings::gatehouse::gate::servers_admin::Added;
use crate::servers::MetricsFilter;

host_functions! {
    servers_admin:

    /// Forgets how calls went; the number of records that are gone.
    fn reset_metrics as server_reset_metrics(filter: &MetricsFilter) -> u64;

    /// Adds or replaces a server; `definition` is a JSON object with the keys of `[servers.NAME]` in presets.toml.
    ///
    /// # Errors
    /// `invalid-arguments` names the key and what is allowed, `denied` where presets.toml declares the server.
    fn change as server_change(name: &str, definition: &str) -> Added;

    /// Removes a server that [`change`] added; false where there is none.
    fn remove as server_remove(name: &str) -> bool;
}
