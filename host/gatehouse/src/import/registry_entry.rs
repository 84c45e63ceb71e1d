//! Converts an entry of an MCP registry to the keys of `[servers.NAME]`.
//!
//! The entry is a stranger's text that becomes a command on this machine. So the version must be exact, names of packages
//! cannot be options, the program comes from here, and options of that program are refused.

mod checks;

use std::collections::BTreeMap;

use gatehouse_core::names::quoted;
use gatehouse_wire::mcp_registry::{
    RegistryArgument, RegistryEntry, RegistryInput, RegistryPackage, RegistryRemote,
};
use serde_json::{Map, Value};

use super::{PlainError, set_keys};
use crate::config::credentials::is_variable;
use checks::{
    check_identifier, check_literal, check_variable, check_version, fill, is_harmless, option_text,
    pinned_image,
};

/// Package types that run on this machine, in the order of preference.
const PACKAGE_TYPES: [&str; 3] = ["npm", "pypi", "oci"];

/// Registries of packages that the programs use by default.
const DEFAULT_REGISTRIES: [&str; 4] =
    ["https://registry.npmjs.org", "https://pypi.org", "https://pypi.org/simple", "https://docker.io"];

/// Values of the user, by name.
pub(crate) struct EntryValues<'a> {
    server: &'a str,
    values: BTreeMap<String, String>,
    used: Vec<String>,
    /// Required values that are missing, with their descriptions.
    missing: Vec<String>,
}

/// A converted entry.
#[derive(Debug)]
pub(crate) struct EntryDefinition {
    /// Keys of `[servers.NAME]`.
    pub(crate) definition: Map<String, Value>,
    /// Variables that the environment of the host must have, with their descriptions.
    pub(crate) variables: Vec<(String, String)>,
}

/// Returns the definition of an entry's server. `prefers_remote` chooses an address instead of a package.
///
/// # Errors
/// If neither can be used, a value is missing or unknown, or the entry asks for more than a command and its arguments.
pub(crate) fn definition(
    entry: &RegistryEntry,
    prefers_remote: bool,
    values: BTreeMap<String, String>,
    server: &str,
) -> Result<EntryDefinition, PlainError> {
    let mut values = EntryValues { server, values, used: Vec::new(), missing: Vec::new() };
    let mut entry_definition = EntryDefinition { definition: Map::new(), variables: Vec::new() };
    let package = PACKAGE_TYPES.iter().find_map(|kind| {
        entry.packages.iter().find(|package| {
            package.registry_type == *kind && matches!(&*package.transport.kind, "stdio" | "")
        })
    });
    let remote = entry.remotes.iter().find(|remote| matches!(&*remote.kind, "streamable-http" | "sse"));
    match (package, remote) {
        (_, Some(remote)) if prefers_remote || package.is_none() => {
            entry_definition.remote(remote, &mut values)?
        }
        (Some(_), None) if prefers_remote => bail!("it has no address; leave out --remote"),
        (Some(package), _) => entry_definition.package(package, &mut values)?,
        (None, _) => {
            let mut kinds: Vec<&str> = entry.packages.iter().map(|package| &*package.registry_type).collect();
            kinds.extend(entry.remotes.iter().map(|remote| &*remote.kind));
            let kinds = quoted(&kinds.join(", "), 100);
            bail!("it has no package of npm, PyPI or OCI for stdio, and no address (it has: {kinds})");
        }
    }
    values.check()?;
    Ok(entry_definition)
}

impl EntryValues<'_> {
    /// Returns the user's value of an input, or else its default. `None` if it has none and is not required.
    fn take(&mut self, name: &str, input: &RegistryInput) -> Option<String> {
        if let Some(given) = self.values.get(name) {
            self.used.push(name.to_owned());
            return Some(given.clone());
        }
        if input.default.is_none() && input.is_required {
            let about = quoted(&input.description, 100);
            self.missing.push(format!("--set {name}=VALUE ({about})"));
        }
        input.default.clone()
    }

    fn check(&self) -> Result<(), PlainError> {
        if !self.missing.is_empty() {
            bail!("it needs values; add {}", self.missing.join(", "));
        }
        if let Some(unknown) = self.values.keys().find(|name| !self.used.contains(name)) {
            bail!("it has no value '{}' to set", quoted(unknown, 64));
        }
        Ok(())
    }
}

impl EntryDefinition {
    fn package(&mut self, package: &RegistryPackage, values: &mut EntryValues<'_>) -> Result<(), PlainError> {
        let kind = package.registry_type.as_str();
        if let Some(base) = package.registry_base_url.as_deref().map(|base| base.trim_end_matches('/'))
            && !DEFAULT_REGISTRIES.contains(&base)
        {
            bail!("its package is in another registry of packages: {}", quoted(base, 200));
        }
        if let Some(option) = package.runtime_arguments.iter().find(|option| !is_harmless(kind, option)) {
            let option = quoted(&option_text(option), 100);
            bail!(
                "it runs with the option '{option}', which may change what the program can reach; if that is what you \
                want, add it yourself: gatehouse servers add NAME -- COMMAND …"
            );
        }
        let (identifier, version) = (package.identifier.as_str(), package.version.as_str());
        let pinned_package = || check_version(kind, version).map(|()| format!("{identifier}@{version}"));
        let (command, letters, pinned, mut args) = match kind {
            "npm" => ("npx", "@/._~-", pinned_package(), vec!["-y".to_owned()]),
            "pypi" => ("uvx", "._-", pinned_package(), Vec::new()),
            _ => {
                let mut args = ["run", "-i", "--rm"].map(str::to_owned).to_vec();
                for variable in &package.environment_variables {
                    args.extend(["-e".to_owned(), variable.name.clone()]);
                }
                ("docker", "/._:@-", pinned_image(identifier, version), args)
            }
        };
        check_identifier(kind, identifier, letters)?;
        args.push(pinned?);
        for argument in &package.package_arguments {
            args.extend(self.argument(argument, values)?);
        }
        let mut env = Map::new();
        for variable in &package.environment_variables {
            check_variable(&variable.name)?;
            let value = self.value(&variable.name, variable, values)?;
            env.extend(value.map(|value| (variable.name.clone(), value.into())));
        }
        self.definition = set_keys([("command", command.into()), ("args", args.into()), ("env", env.into())]);
        Ok(())
    }

    fn remote(&mut self, remote: &RegistryRemote, values: &mut EntryValues<'_>) -> Result<(), PlainError> {
        let required = RegistryInput { is_required: true, ..RegistryInput::default() };
        let url = fill(&remote.url, |name| values.take(name, &required).unwrap_or_default())?;
        if values.missing.is_empty() && !url.starts_with("https://") {
            bail!("its address '{}' is not encrypted; only https is used", quoted(&url, 100));
        }
        let mut headers = Map::new();
        for header in &remote.headers {
            check_literal(&header.name)?;
            let variable = header.name.to_ascii_uppercase().replace('-', "_");
            let value = self.value(&variable, header, values)?;
            headers.extend(value.map(|value| (header.name.clone(), value.into())));
        }
        let transport = (remote.kind == "sse").then_some("sse");
        self.definition =
            set_keys([("url", url.into()), ("transport", transport.into()), ("headers", headers.into())]);
        Ok(())
    }

    /// Returns the words of an argument. Empty if it is optional and has no value.
    fn argument(
        &mut self,
        argument: &RegistryArgument,
        values: &mut EntryValues<'_>,
    ) -> Result<Vec<String>, PlainError> {
        let input = &argument.input;
        let is_named = argument.kind == "named";
        check_literal(&input.name)?;
        let label = match (&*input.name, &*argument.value_hint) {
            ("", "") => "argument",
            ("", hint) => hint,
            (name, _) => name.trim_start_matches('-'),
        };
        let value = self.value(label, input, values)?;
        Ok(match (is_named, value) {
            (true, Some(value)) if value.is_empty() || value == "true" => vec![input.name.clone()],
            (true, Some(value)) => vec![input.name.clone(), value],
            (false, Some(value)) => vec![value],
            (_, None) => Vec::new(),
        })
    }

    /// Returns the value of an input. A secret becomes a variable of the host's environment, so that no file has it.
    fn value(
        &mut self,
        name: &str,
        input: &RegistryInput,
        values: &mut EntryValues<'_>,
    ) -> Result<Option<String>, PlainError> {
        if let Some(template) = &input.value {
            // Its `{name}` are values of the user.
            return fill(template, |name| self.variable(name, &input.description, values)).map(Some);
        }
        let is_given = values.values.contains_key(name);
        if input.is_secret && !is_given {
            return Ok(input.is_required.then(|| self.variable(name, &input.description, values)));
        }
        let value = values.take(name, input);
        if let Some(default) = value.as_deref().filter(|_| !is_given) {
            check_literal(default)?;
        }
        Ok(value)
    }

    /// Returns a variable of the server's own as a value, so that the entry gets nothing that was set for others.
    fn variable(&mut self, name: &str, about: &str, values: &EntryValues<'_>) -> String {
        let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
        let upper = |text: &str| -> String { text.chars().map(letter).collect() };
        let (server, name) = (upper(values.server), upper(name));
        let own = if name.starts_with(&format!("{server}_")) { name } else { format!("{server}_{name}") };
        let variable = if is_variable(&own) { own } else { format!("VALUE_{own}") };
        let value = format!("${{{variable}}}");
        let about = quoted(about, 200);
        if !self.variables.iter().any(|(known, _)| *known == variable) {
            self.variables.push((variable, about));
        }
        value
    }
}

#[cfg(test)]
mod tests;
