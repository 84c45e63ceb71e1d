//! Environment variables of the host that server processes inherit.

use std::ffi::OsString;

use gatehouse_core::{http::Secret, names::quoted};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InheritedEnv {
    pub passed: Vec<(String, OsString)>,
    /// Variables that a process may need, but gets only if its definition names them.
    pub withheld: Vec<WithheldVariable>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WithheldVariable {
    pub name: String,
    /// Reason, shown in parentheses after the name.
    pub reason: &'static str,
}

impl InheritedEnv {
    /// Describes the variables that the server lacks, and the line that passes one on. `None` if it lacks none.
    pub(super) fn withheld_from(&self, server: &str, own: &[(String, Secret)]) -> Option<String> {
        let is_own = |variable: &WithheldVariable| own.iter().any(|(name, _)| *name == variable.name);
        let withheld: Vec<_> = self.withheld.iter().filter(|variable| !is_own(variable)).collect();
        if withheld.is_empty() {
            return None;
        }
        let list =
            withheld.iter().map(|variable| format!("{} ({})", quoted(&variable.name, 64), variable.reason));
        let list = list.collect::<Vec<_>>().join(", ");
        // `${…}` cannot contain a name such as `npm_config_//host/:_auth`.
        let is_plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let example = withheld.iter().map(|variable| variable.name.as_str()).find(is_plain);
        let example =
            example.map(|name| format!(": env = {{ {name} = \"${{{name}}}\" }}")).unwrap_or_default();
        Some(format!(
            "set for the host but not passed on: {list}; [servers.{server}] can pass them on{example}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_a_server_does_not_get_are_named_with_a_line_to_add() {
        let withheld = |name: &str| WithheldVariable { name: name.into(), reason: "secret" };
        let withheld = vec![withheld("npm_config_//a/:_auth"), withheld("HTTPS_PROXY")];
        let inherited = InheritedEnv { withheld, ..InheritedEnv::default() };
        let told = |own: &[&str]| {
            let own: Vec<_> = own.iter().map(|name| ((*name).to_owned(), Secret::new("x"))).collect();
            inherited.withheld_from("s", &own)
        };
        assert_eq!(
            told(&[]).as_deref(),
            Some(
                "set for the host but not passed on: npm_config_//a/:_auth (secret), HTTPS_PROXY (secret); \
                 [servers.s] can pass them on: env = { HTTPS_PROXY = \"${HTTPS_PROXY}\" }"
            )
        );
        assert_eq!(
            told(&["HTTPS_PROXY"]).as_deref(),
            Some(
                "set for the host but not passed on: npm_config_//a/:_auth (secret); [servers.s] can pass them on"
            )
        );
        assert_eq!(told(&["npm_config_//a/:_auth", "HTTPS_PROXY"]), None);
    }
}
