//! The table of open connections: places, owners, and the choice of one that is closed for another.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use gatehouse_core::Principal;

use super::super::connection::{EvictionRank, HttpConnection};

#[derive(Default)]
pub(super) struct ConnectionTable {
    pub(super) connections: BTreeMap<u64, Arc<HttpConnection>>,
    pub(super) last: u64,
    /// Number of connections of each principal.
    pub(super) owners: HashMap<Principal, usize>,
}

/// Connections that may be closed for another one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EvictionReach {
    /// Those without a request, and streams of people who have more than their share.
    Idle,
    /// Unfinished bodies, unread replies and streams, too.
    All,
}

impl ConnectionTable {
    pub(super) fn open(&self) -> impl Iterator<Item = &Arc<HttpConnection>> {
        self.connections.values().filter(|connection| !connection.closing.is_cancelled())
    }

    /// Finds a place for a connection, if need be at the cost of another. Returns false if there is none.
    pub(super) fn find_place(&self, max: usize, reach: EvictionReach) -> bool {
        self.connections.len() < max
            || self.open().filter(|connection| connection.has_place()).count() < max
            || self.close_one(max, reach)
    }

    /// Returns the connections that a principal may have if others need room: one share for each principal, and one for
    /// the next to come.
    pub(super) fn share(&self, max: usize) -> usize {
        (max / (self.owners.len() + 1)).max(1)
    }

    /// Finds one of `max` extra connections. Returns false if requests are active on all of them.
    pub(super) fn find_extra(&self, max: usize) -> bool {
        let extra = || self.open().filter(|connection| !connection.has_place());
        let Some(silent) = extra().find(|connection| connection.is_idle()) else {
            return extra().count() < max;
        };
        if extra().count() >= max {
            silent.closing.cancel();
        }
        true
    }

    pub(super) fn release(&mut self, owner: &Principal) {
        if let Some(held) = self.owners.get_mut(owner) {
            *held -= 1;
            if *held == 0 {
                self.owners.remove(owner);
            }
        }
    }

    /// Closes the oldest dispensable connection or, if there is none, one of the principal with most connections: one
    /// without a request before a stream of changes, and the newest of them. Returns false if it closes none.
    pub(super) fn close_one(&self, max: usize, reach: EvictionReach) -> bool {
        let share = self.share(max);
        let of_largest = || {
            let ranked = self.open().filter_map(|connection| {
                let owned = self.owners.get(&connection.owner()?).copied().unwrap_or_default();
                let rank = connection.eviction_rank()?;
                let is_within_reach = match (reach, rank) {
                    (EvictionReach::All, _) | (_, EvictionRank::Idle(_)) => true,
                    // Of a person with more than a share, who has others.
                    (EvictionReach::Idle, EvictionRank::Listening(_)) => owned > share,
                    (EvictionReach::Idle, EvictionRank::Body(_)) => false,
                };
                is_within_reach.then_some(((owned, rank), connection))
            });
            ranked.max_by_key(|(rank, _)| *rank).map(|(_, connection)| connection)
        };
        let dispensable = self.open().find(|connection| connection.is_dispensable());
        let Some(evicted) = dispensable.or_else(of_largest) else { return false };
        tracing::debug!(peer = %evicted.peer, owner = ?evicted.owner(), "closed to make room for another connection");
        evicted.close_unless_working()
    }

    /// Closes a connection of a principal without a request, or a stream, other than `connection`. Returns false if there is
    /// none.
    pub(super) fn close_other_of(&self, principal: &Principal, connection: &HttpConnection) -> bool {
        let others = self.open().filter(|other| !std::ptr::eq(&***other, connection));
        let owned = others.filter(|other| other.owner().as_ref() == Some(principal));
        let ranked = owned.filter_map(|other| Some((other.eviction_rank()?, other)));
        // A body that is being read becomes a call.
        let quiet = ranked.filter(|(rank, _)| !matches!(rank, EvictionRank::Body(_)));
        let evicted = quiet.max_by_key(|(rank, _)| *rank);
        evicted.is_some_and(|(_, evicted)| evicted.close_unless_working())
    }
}
