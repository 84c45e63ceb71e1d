//! Faults of calls that do not reach a server.

use gatehouse_core::Fault;

use super::DownstreamServer;

impl DownstreamServer {
    pub(super) fn closed_fault(&self) -> Fault {
        let name = &self.definition.name;
        Fault::unavailable(format!("server '{name}' was removed or redefined"))
            .hint("List the tools again, then repeat the call.")
    }

    pub(super) fn unreachable(&self, why: &str) -> Fault {
        let (name, why) = (&self.definition.name, self.redactor.redact_text(why.to_owned()));
        Fault::unavailable(format!("cannot reach server '{name}': {why}"))
            .hint(format!("Run `gatehouse servers status` to see its state; [servers.{name}] defines it."))
    }
}

pub(super) fn shutdown_fault() -> Fault {
    Fault::unavailable("the host is shutting down")
}
