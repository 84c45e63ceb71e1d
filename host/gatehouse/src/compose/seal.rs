//! Keys that seal session IDs. They are a file of the data directory, or GATEHOUSE_SEAL_KEYS, so that sessions survive a
//! restart.

use std::{fs, io, path::Path};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use gatehouse_wire::serve::{SEAL_KEY_LEN, SealKeys};

use crate::{config::Env, plain_error::PlainError};

const FILE: &str = "seal.key";

const VARIABLE: &str = "GATEHOUSE_SEAL_KEYS";

type KeyBytes = [u8; SEAL_KEY_LEN];

/// Returns the keys of this host. Creates the file if neither it nor the variable exists.
pub(crate) fn seal_keys(env: &Env, state: &Path) -> Result<SealKeys, PlainError> {
    let keys = match env.get(VARIABLE) {
        Some(keys) => from_variable(keys)?,
        None => vec![from_file(&state.join(FILE))?],
    };
    SealKeys::new(&keys).map_err(|error| PlainError::from(format!("cannot seal sessions: {error}")))
}

fn from_variable(text: &str) -> Result<Vec<KeyBytes>, PlainError> {
    text.split(',').map(key).collect::<Option<Vec<_>>>().ok_or_else(|| {
        PlainError::from(format!(
            "invalid value of {VARIABLE}: expected keys of {SEAL_KEY_LEN} bytes in Base64, separated by commas. \
             `openssl rand -base64 {SEAL_KEY_LEN}` makes one."
        ))
    })
}

fn from_file(path: &Path) -> Result<KeyBytes, PlainError> {
    let subject = |action: &str| format!("cannot {action} {}, which seals session IDs", path.display());
    match fs::read_to_string(path) {
        Ok(text) => return from_base64(path, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(format!("{}: {error}", subject("read")).into()),
    }
    let key =
        SealKeys::random_key().map_err(|error| PlainError::from(format!("cannot make a key: {error}")))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let created = gatehouse_files::make_private(folder)
        .and_then(|()| gatehouse_files::write_new_private(path, BASE64.encode(key).as_bytes()));
    match created {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Another host was faster.
            let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", subject("read")))?;
            from_base64(path, &text)
        }
        // The host may still serve calls that store nothing, and /readyz reports the directory.
        Err(error) => {
            tracing::warn!("sessions end with this host: {}: {error}", subject("create"));
            Ok(key)
        }
    }
}

fn from_base64(path: &Path, text: &str) -> Result<KeyBytes, PlainError> {
    key(text).ok_or_else(|| {
        PlainError::from(format!("{} is damaged. Delete it; clients then open new sessions.", path.display()))
    })
}

fn key(text: &str) -> Option<KeyBytes> {
    KeyBytes::try_from(BASE64.decode(text.trim()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_created_once_and_private() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("new/seal.key");
        let key = from_file(&path).unwrap();
        assert_eq!(from_file(&path).unwrap(), key);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(from_file(&path).unwrap_err().to_string().ends_with("clients then open new sessions."));
    }

    #[test]
    fn the_variable_lists_keys() {
        let (one, two) = (BASE64.encode([1; SEAL_KEY_LEN]), BASE64.encode([2; SEAL_KEY_LEN]));
        let keys = from_variable(&format!("{one}, {two}")).unwrap();
        assert_eq!(keys, [[1; SEAL_KEY_LEN], [2; SEAL_KEY_LEN]]);
        for wrong in ["", "abc", &format!("{one},"), &BASE64.encode([1; 16])] {
            let error = from_variable(wrong).unwrap_err().to_string();
            assert!(error.contains("openssl rand -base64 32"), "{error}");
        }
    }
}
