//! Behaviors that every audit must have, like [`behaviours`](crate::behaviours) for the knowledge graph.

pub(crate) mod chain;
pub(crate) mod entries;

use std::{net::IpAddr, sync::Arc};

use gatehouse_core::{
    Principal,
    ports::{
        AuditLog as _,
        audit::{AuditEntry, AuditKind},
    },
};
use gatehouse_stores::{AuditFilter, AuditRecord, AuditTables};

use crate::{
    engines::AuditFixture,
    support::{TestClock, clock},
};

macro_rules! audit_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, audit_behaviours;
            chain {
                an_intact_chain_is_verified_and_every_change_is_found,
                a_long_chain_is_verified_to_its_end,
                the_database_refuses_changes,
                two_connections_continue_one_chain,
                old_entries_are_deleted_from_the_beginning_and_the_rest_is_verified,
                a_clock_that_is_ahead_deletes_one_day_at_a_time,
            }
            entries {
                entries_are_found_by_their_facts,
                entries_with_any_character_are_verified,
                an_erased_principal_has_no_name_and_a_new_pseudonym_later,
                refusals_of_quotas_are_counted,
                of_two_counts_of_a_window_the_larger_is_stored,
                asking_makes_no_database,
            }
        }
    };
}

pub(crate) use audit_behaviours;

pub(crate) const NAME: &str = "okta:ann.example";

pub(crate) const DAY: u64 = 24 * 60 * 60 * 1_000;

pub(crate) struct Opened<F> {
    pub(crate) engine: F,
    pub(crate) audit: AuditTables,
    pub(crate) clock: Arc<TestClock>,
}

impl<F: AuditFixture> Opened<F> {
    pub(crate) fn new(engine: F) -> Self {
        let clock = clock();
        let audit = engine.open_audit(Arc::clone(&clock) as _);
        Self { engine, audit, clock }
    }

    /// Opens an audit with entries of two principals.
    pub(crate) async fn filled(engine: F, entries: usize) -> Self {
        let opened = Self::new(engine);
        for n in 0..entries {
            opened.audit.record(entry(if n % 2 == 0 { NAME } else { "key:ci" }, &format!("tool_{n}")));
        }
        opened.audit.flush().await.unwrap();
        opened
    }

    pub(crate) async fn broken(&self) -> Option<i64> {
        self.audit.verify().await.unwrap().broken.map(|broken| broken.seq)
    }

    pub(crate) async fn matches(&self, filter: AuditFilter) -> Vec<AuditRecord> {
        self.audit.search(&AuditFilter { limit: 1_000, ..filter }).await.unwrap()
    }
}

pub(crate) fn entry(name: &str, tool: &str) -> AuditEntry {
    AuditEntry {
        kind: AuditKind::Call,
        principal: Principal::Named(name.into()),
        credential: format!("token of {name}").into(),
        client: "tester 1.0".into(),
        address: Some(IpAddr::from([192, 0, 2, 77])),
        preset: Some("full".into()),
        tool: Some(tool.into()),
        rule: None,
        approval: Some("given"),
        outcome: "ok",
        took_us: 12,
        tokens_in: 3,
        tokens_out: 4,
        arguments: Some([7; 32]),
        details: None,
    }
}
