//! A bounded map that keeps the entries that were used last.

use std::{collections::HashMap, hash::Hash, mem};

/// A map with at most twice `limit` entries. Entries that were not used while `limit` others were are dropped.
pub(crate) struct RecentMap<K, V> {
    recent: HashMap<K, V>,
    older: HashMap<K, V>,
    limit: usize,
}

impl<K: Hash + Eq, V: Clone> RecentMap<K, V> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { recent: HashMap::new(), older: HashMap::new(), limit }
    }

    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        if let Some(value) = self.recent.get(key) {
            return Some(value.clone());
        }
        let (key, value) = self.older.remove_entry(key)?;
        self.insert(key, value.clone());
        Some(value)
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.recent.len() >= self.limit {
            self.older = mem::take(&mut self.recent);
        }
        self.recent.insert(key, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_entries_stay_and_the_size_is_bounded() {
        let mut map = RecentMap::new(10);
        map.insert(0, "kept");
        for number in 1..1_000 {
            map.insert(number, "other");
            assert_eq!(map.get(&0), Some("kept"), "{number}");
            assert!(map.recent.len() + map.older.len() <= 20);
        }
        assert_eq!(map.get(&1), None);
    }
}
