//! An in-memory key-value store for [`Fake`], with its clock and without a quota.

use std::{cell::RefCell, collections::BTreeMap};

use super::{Fake, current, unset};
use crate::{Fault, kv::Scope};

/// Values by scope and key, each with its expiry time.
type Values = BTreeMap<(u8, String), (Vec<u8>, Option<u64>)>;

fn scoped_key(scope: Scope, key: &str) -> (u8, String) {
    (scope as u8, key.to_owned())
}

pub(super) type Store = RefCell<Values>;

impl Fake {
    /// Gives the host a key-value store with these entries in the gate's scope.
    pub fn keeps<'a>(mut self, entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let entries =
            entries.into_iter().map(|(key, value)| (scoped_key(Scope::Gate, key), (value.to_vec(), None)));
        self.kv = Some(RefCell::new(entries.collect()));
        self
    }

    fn store<T>(&self, function: &str, f: impl FnOnce(&mut Values) -> T) -> Result<T, Fault> {
        let Some(store) = &self.kv else { return unset(function) };
        self.failure(function)?;
        let mut values = store.borrow_mut();
        values.retain(|_, (_, expires)| expires.is_none_or(|at| at > self.now.get()));
        Ok(f(&mut values))
    }
}

pub(crate) fn get(scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Fault> {
    current().store("kv.get", |values| values.get(&scoped_key(scope, key)).map(|(value, _)| value.clone()))
}

pub(crate) fn set(scope: Scope, key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
    let host = current();
    let expires = ttl_ms.map(|ttl| host.now.get().saturating_add(ttl));
    host.store("kv.set", |values| values.insert(scoped_key(scope, key), (value.to_vec(), expires))).map(drop)
}

pub(crate) fn add(scope: Scope, key: &str, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
    let host = current();
    let expires = ttl_ms.map(|ttl| host.now.get().saturating_add(ttl));
    host.store("kv.add", |values| {
        let key = scoped_key(scope, key);
        let before =
            values.get(&key).map_or(Some(0), |(value, _)| std::str::from_utf8(value).ok()?.parse().ok());
        let sum = before.and_then(|number: i64| number.checked_add(delta)).ok_or_else(|| {
            let reason = "it is not an integer, or the sum overflows";
            Fault::invalid(format!("cannot add to the value of '{}': {reason}", key.1))
        })?;
        values.insert(key, (sum.to_string().into_bytes(), expires));
        Ok(sum)
    })?
}

pub(crate) fn delete(scope: Scope, key: &str) -> Result<bool, Fault> {
    current().store("kv.delete", |values| values.remove(&scoped_key(scope, key)).is_some())
}

pub(crate) fn keys(scope: Scope, prefix: &str) -> Result<Vec<String>, Fault> {
    current().store("kv.keys", |values| {
        let keys = values.keys().filter(|(of, key)| *of == scope as u8 && key.starts_with(prefix));
        keys.map(|(_, key)| key.clone()).take(1_000).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv;

    #[test]
    fn a_value_is_stored_until_it_expires() {
        let shared = kv::shared();
        Fake::new().now(5).keeps([("a", b"1".as_slice())]).run(|| {
            shared.set("b", b"2", Some(10)).unwrap();
            shared.set("gone", b"3", Some(0)).unwrap();
            assert_eq!(shared.get("b").unwrap().as_deref(), Some(b"2".as_slice()));
            assert_eq!(shared.get("gone").unwrap(), None);
            assert_eq!(shared.list("").unwrap(), ["a", "b"]);
            assert_eq!((shared.add("n", 3, None).unwrap(), shared.add("a", -2, None).unwrap()), (3, -1));
            shared.set("b", b"x", Some(10)).unwrap();
            assert!(shared.add("b", 1, None).is_err());
            crate::testing::advance(10);
            assert_eq!(shared.get("b").unwrap(), None);
            assert!(shared.delete("a").unwrap() && !shared.delete("a").unwrap());
            kv::caller().set("mine", b"1", None).unwrap();
            assert_eq!(kv::caller().list("").unwrap(), ["mine"]);
            assert_eq!((kv::preset().get("mine").unwrap(), shared.get("mine").unwrap()), (None, None));
        });
        assert!(Fake::new().run(|| shared.get("a")).is_err(), "a host without a store says so");
    }
}
