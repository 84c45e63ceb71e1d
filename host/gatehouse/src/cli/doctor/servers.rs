//! Checks of the MCP servers: their programs and variables.

use std::path::PathBuf;

use gatehouse_core::{
    names,
    ports::servers::{ServerDefinition, ServerTransport},
};
use gatehouse_wire::downstream::WithheldVariable;

use crate::{
    check::CheckLine,
    config::{Env, ServerConfig, ServersConfig, added::AddedSnapshot},
    plain_error::PlainError,
};

/// Checks the programs and variables of all servers. Starts none.
pub(super) fn check_servers(servers: &ServersConfig, added: &AddedSnapshot) -> Vec<CheckLine> {
    let enabled_servers = servers.declared.iter().chain(&added.servers).filter(|(_, server)| server.enabled);
    let mut checks: Vec<CheckLine> =
        enabled_servers.clone().flat_map(|(name, server)| check_server(name, server)).collect();
    checks.extend(withheld_variables(
        &enabled_servers.map(|(_, server)| &server.definition).collect::<Vec<_>>(),
    ));
    checks.extend(added.problems.iter().map(|problem| CheckLine::warning("servers", problem.clone())));
    checks
}

fn check_server(name: &str, server: &ServerConfig) -> Vec<CheckLine> {
    let (what, definition) = (format!("server {name}"), &server.definition);
    let mut checks = vec![match find_program(definition) {
        Ok(found) => CheckLine::ok(&what, found),
        Err(reason) => CheckLine::warning(&what, reason),
    }];
    if !definition.missing.is_empty() {
        let missing = definition.missing.join(", ");
        let reason = format!(
            "it needs the environment variable {missing}, which is not set; set it to connect the server"
        );
        checks.push(CheckLine::warning(&what, reason));
    }
    checks.extend(server.literals.iter().map(|name| {
        let reason =
            format!("the file contains the value of {name}; write \"${{NAME}}\" and set the variable");
        CheckLine::warning(&what, reason)
    }));
    checks.extend(server.unredacted.iter().map(|(name, reason)| {
        let name = names::quoted(name, 64);
        CheckLine::ok(&what, format!("replies may contain the value of {name}: {reason}"))
    }));
    checks
}

fn withheld_variables(servers: &[&ServerDefinition]) -> Vec<CheckLine> {
    let lacks = |server: &ServerDefinition, variable: &str| match &server.transport {
        ServerTransport::Stdio { env, .. } => env.iter().all(|(name, _)| name != variable),
        ServerTransport::Http { .. } | ServerTransport::Sse { .. } => false,
    };
    let check = |WithheldVariable { name, reason }| {
        let lacking: Vec<&str> =
            servers.iter().filter(|server| lacks(server, &name)).map(|server| &*server.name).collect();
        let (name, lacking) = (names::quoted(&name, 64), lacking.join(", "));
        (!lacking.is_empty()).then(|| {
            let message = format!(
                "{name} is set, but not passed on to {lacking}: {reason}; to pass it to a server, add it to `env` of \
                that server"
            );
            CheckLine::warning("servers", message)
        })
    };
    Env::inherited().withheld.into_iter().filter_map(check).collect()
}

/// Returns the program or the address of a server, or an error if the program is missing.
fn find_program(definition: &ServerDefinition) -> Result<String, PlainError> {
    let ServerTransport::Stdio { command, cwd, .. } = &definition.transport else {
        return Ok(format!("{}, not contacted", definition.transport.as_str()));
    };
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        bail!("its working directory {} does not exist", cwd.display());
    }
    match program(command) {
        Some(program) => Ok(format!("{}, not started", program.display())),
        None => Err(format!("program '{command}' not found; install it, or write its full path").into()),
    }
}

fn program(command: &str) -> Option<PathBuf> {
    if command.contains(['/', '\\']) {
        return Some(PathBuf::from(command)).filter(|file| file.is_file());
    }
    let named = |folder: PathBuf| {
        [command.to_owned(), format!("{command}.exe"), format!("{command}.cmd")].map(|name| folder.join(name))
    };
    Env::program_folders().into_iter().flat_map(named).find(|file| file.is_file())
}
