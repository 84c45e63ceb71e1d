//! Behaviors that every store of API keys must have, like [`behaviours`](crate::behaviours) for the knowledge graph.

pub(crate) mod changes;

use gatehouse_core::ports::keys::{KeyRecord, KeySecret};

macro_rules! key_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, key_behaviours;
            changes {
                every_change_and_no_use_has_another_version_in_every_process,
                a_rotation_ends_the_old_secrets_and_their_number_is_bounded,
                of_two_hosts_that_add_one_name_one_does,
            }
        }
    };
}

pub(crate) use key_behaviours;

pub(crate) fn secret(id: &str, created_at: u64) -> KeySecret {
    KeySecret { id: id.into(), hash: [7; 32], created_at, expires_at: None, last_used_at: None }
}

pub(crate) fn key(name: &str) -> KeyRecord {
    KeyRecord {
        name: name.into(),
        groups: vec!["dev".into(), "ops".into()],
        presets: Some(vec!["context".into()]),
        created_at: 1_000,
        expires_at: Some(9_000),
        secrets: vec![secret(&format!("{name}-1"), 1_000)],
    }
}
