//! Changes the MCP servers behind the host, for all presets. A gate with this grant can make the host run programs.
//! Needs the grant `servers-admin`.

pub use crate::bindings::gatehouse::gate::servers_admin::Added;
use crate::servers::MetricsFilter;

host_functions! {
    servers_admin:

    /// Deletes call metrics and returns the number of deleted records.
    fn reset_metrics as server_reset_metrics(filter: &MetricsFilter) -> u64;

    /// Adds or replaces a server; `definition` is a JSON object with the keys of `[servers.NAME]` in presets.toml.
    ///
    /// # Errors
    /// `invalid-arguments` names the key and the allowed values. `denied` if presets.toml declares the server.
    fn change as server_change(name: &str, definition: &str) -> Added;

    /// Removes a server that [`change`] added. Returns `false` if it does not exist.
    fn remove as server_remove(name: &str) -> bool;
}
