//! Behaviors that every key-value store of gates must have, like [`behaviours`](crate::behaviours) for the knowledge
//! graph.

pub(crate) mod together;
pub(crate) mod values;

use std::sync::Arc;

use gatehouse_core::ports::{KvStore as _, kv::KvQuota};
use gatehouse_stores::KvTables;

use crate::{
    engines::KvFixture,
    support::{TestClock, clock},
};

macro_rules! kv_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, kv_behaviours;
            values {
                a_value_stays_until_it_is_replaced_or_deleted,
                gates_do_not_see_each_other,
                expired_values_are_invisible_to_every_read,
                the_quota_counts_only_live_keys_and_values,
                numbers_are_added_up_in_one_step,
                a_failed_add_changes_nothing,
                the_number_of_keys_is_bounded,
                keys_are_found_by_how_they_begin,
                keys_and_values_have_sizes,
                two_hosts_share_one_file,
                a_caller_that_fills_its_share_stops_neither_others_nor_the_gate,
            }
            together {
                two_connections_add_to_one_number,
                two_connections_cannot_exceed_a_quota_together,
            }
        }
    };
}

pub(crate) use kv_behaviours;

pub(crate) const QUOTA: KvQuota<'static> = KvQuota::of_gate(16 << 20);

pub(crate) const SMALL: KvQuota<'static> = KvQuota::of_gate(100);

pub(crate) struct Store {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) kv: KvTables,
}

pub(crate) fn store<F: KvFixture>(engine: &F) -> Store {
    let clock = clock();
    Store { kv: engine.open_kv(Arc::clone(&clock) as _), clock }
}

pub(crate) async fn set(kv: &KvTables, gate: &str, key: &str, value: &[u8], ttl_ms: Option<u64>) {
    kv.set(gate, key, value.to_vec(), ttl_ms, QUOTA).await.unwrap();
}
