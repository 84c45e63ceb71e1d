//! Identity of a login: a server, and the principal whose account it is.

use std::sync::Arc;

use gatehouse_core::{Fault, Principal, names::quoted};
use sha2::{Digest as _, Sha256};

/// Bytes of the principal's digest in a file name.
const DIGEST_LEN: usize = 20;

/// A login to a server: the one that all callers share, or the one of a principal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LoginId {
    server: Arc<str>,
    /// `None` for the shared login.
    owner: Option<Principal>,
}

impl LoginId {
    pub fn shared(server: &str) -> Self {
        Self { server: server.into(), owner: None }
    }

    /// Returns the login of a principal. The local user's is the shared one.
    pub fn from_principal(server: &str, principal: &Principal) -> Self {
        let owner = (*principal != Principal::Local).then(|| principal.clone());
        Self { server: server.into(), owner }
    }

    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the principal whose login it is. `None` for the shared login.
    pub fn owner(&self) -> Option<&Principal> {
        self.owner.as_ref()
    }

    /// Returns the name of its file, without the extension. Names of servers contain no `@`.
    pub(super) fn file_stem(&self) -> Result<String, Fault> {
        let letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let server = &*self.server;
        let plain = !server.is_empty() && server.len() <= 128 && !server.starts_with('.');
        if !plain || !server.chars().all(letter) {
            return Err(Fault::invalid(format!("invalid server name '{}'", quoted(server, 64))));
        }
        Ok(match &self.owner {
            None => server.to_owned(),
            Some(owner) => {
                let digest = Sha256::digest(owner.as_str());
                let digest: String = digest[..DIGEST_LEN].iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{server}@{digest}")
            }
        })
    }

    /// Returns the fault for a login that does not exist.
    pub(crate) fn missing_fault(&self) -> Fault {
        let server = &self.server;
        self.hint_login(Fault::denied(match &self.owner {
            None => format!("server '{server}' requires a login"),
            Some(_) => format!("server '{server}' requires your own login"),
        }))
    }

    /// Returns the fault for a login that cannot be renewed, and for a server that refuses a renewed token.
    pub(crate) fn ended_fault(&self) -> Fault {
        self.hint_login(Fault::denied(format!("the login to '{}' is no longer valid", self.server)))
    }

    /// Adds the command that logs in.
    pub(super) fn hint_login(&self, fault: Fault) -> Fault {
        fault.hint(self.command(""))
    }

    /// Returns the advice to log in, with more arguments of the command.
    pub(super) fn command(&self, more: &str) -> String {
        let server = &self.server;
        match &self.owner {
            None => format!("Run: gatehouse servers login {server}{more}"),
            // The operator pastes the command into a shell, and an issuer may let people choose their names.
            Some(owner) if owner.as_str().chars().all(is_safe_in_shell) => {
                format!("Ask the operator to run: gatehouse servers login {server} --as {owner}{more}")
            }
            Some(_) => "Ask the operator to log in for you.".to_owned(),
        }
    }
}

pub(super) fn is_safe_in_shell(c: char) -> bool {
    c.is_ascii_alphanumeric() || ":._@-".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_principal_has_a_file_of_its_own() {
        let stem = |id: &LoginId| id.file_stem().expect("a name");
        let named = |name: &str| LoginId::from_principal("git", &Principal::Named(name.into()));
        assert_eq!(stem(&LoginId::shared("git")), "git");
        assert_eq!(stem(&LoginId::from_principal("git", &Principal::Local)), "git");
        let (ann, bob) = (stem(&named("key:ann")), stem(&named("key:bob")));
        assert!(ann.starts_with("git@") && ann.len() == 44 && ann != bob, "{ann} {bob}");
        assert_ne!(stem(&named("../x")), "../x");
        for bad in ["", "../x", ".x", "a/b", "git@0"] {
            assert!(LoginId::shared(bad).file_stem().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_advice_names_the_principal() {
        let own = LoginId::from_principal("git", &Principal::Named("key:ann".into()));
        assert_eq!(
            own.missing_fault().in_one_line(),
            "server 'git' requires your own login. Ask the operator to run: gatehouse servers login git --as key:ann"
        );
        let hostile = LoginId::from_principal("git", &Principal::Named("idp:x';rm -rf ~".into()));
        assert!(!hostile.missing_fault().in_one_line().contains("rm"), "{hostile:?}");
    }
}
