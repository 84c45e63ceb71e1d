//! An in-memory key-value store for [`Fake`], with its clock and without a quota.

use std::{cell::RefCell, collections::BTreeMap};

use super::{Fake, current, unset};
use crate::{Fault, kv::Scope};

/// Values by scope and key, each with its expiry time.
type Values = BTreeMap<(u8, String), (Vec<u8>, Option<u64>)>;

fn named(scope: Scope, key: &str) -> (u8, String) {
    (scope as u8, key.to_owned())
}

pub(super) type Store = RefCell<Values>;

impl Fake {
    /// Gives the host a key-value store with these entries in the gate's scope.
    #[must_use]
    pub fn keeps<'a>(mut self, entries: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Self {
        let entries =
            entries.into_iter().map(|(key, value)| (named(Scope::Gate, key), (value.to_vec(), None)));
        self.kv = Some(RefCell::new(entries.collect()));
        self
    }

    fn kept<T>(&self, function: &str, f: impl FnOnce(&mut Values) -> T) -> Result<T, Fault> {
        let Some(kept) = &self.kv else { return unset(function) };
        self.failure(function)?;
        let mut kept = kept.borrow_mut();
        kept.retain(|_, (_, expires)| expires.is_none_or(|at| at > self.now.get()));
        Ok(f(&mut kept))
    }
}

pub(crate) fn get(scope: Scope, key: &str) -> Result<Option<Vec<u8>>, Fault> {
    current().kept("kv.get", |kept| kept.get(&named(scope, key)).map(|(value, _)| value.clone()))
}

pub(crate) fn set(scope: Scope, key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
    let host = current();
    let expires = ttl_ms.map(|ttl| host.now.get().saturating_add(ttl));
    host.kept("kv.set", |kept| kept.insert(named(scope, key), (value.to_vec(), expires))).map(drop)
}

pub(crate) fn add(scope: Scope, key: &str, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
    let host = current();
    let expires = ttl_ms.map(|ttl| host.now.get().saturating_add(ttl));
    host.kept("kv.add", |kept| {
        let key = named(scope, key);
        let before =
            kept.get(&key).map_or(Some(0), |(value, _)| std::str::from_utf8(value).ok()?.parse().ok());
        let Some(sum) = before.and_then(|number: i64| number.checked_add(delta)) else {
            return Err(Fault::invalid(format!(
                "cannot add to the value of '{}': it is not an integer, or the sum overflows",
                key.1
            )));
        };
        kept.insert(key, (sum.to_string().into_bytes(), expires));
        Ok(sum)
    })?
}

pub(crate) fn delete(scope: Scope, key: &str) -> Result<bool, Fault> {
    current().kept("kv.delete", |kept| kept.remove(&named(scope, key)).is_some())
}

pub(crate) fn keys(scope: Scope, prefix: &str) -> Result<Vec<String>, Fault> {
    current().kept("kv.keys", |kept| {
        let own = kept.keys().filter(|(of, key)| *of == scope as u8 && key.starts_with(prefix));
        own.map(|(_, key)| key.clone()).take(1_000).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv;

    #[test]
    fn a_fake_keeps_what_it_is_told_until_its_time_is_up() {
        Fake::new().now(5).keeps([("a", b"1".as_slice())]).run(|| {
            kv::set("b", b"2", Some(10)).unwrap();
            kv::set("gone", b"3", Some(0)).unwrap();
            assert_eq!(kv::get("b").unwrap().as_deref(), Some(b"2".as_slice()));
            assert_eq!(kv::get("gone").unwrap(), None);
            assert_eq!(kv::keys("").unwrap(), ["a", "b"]);
            assert_eq!((kv::add("n", 3, None).unwrap(), kv::add("a", -2, None).unwrap()), (3, -1));
            kv::set("b", b"x", Some(10)).unwrap();
            assert!(kv::add("b", 1, None).is_err());
            crate::testing::advance(10);
            assert_eq!(kv::get("b").unwrap(), None);
            assert!(kv::delete("a").unwrap() && !kv::delete("a").unwrap());
            kv::caller().set("mine", b"1", None).unwrap();
            assert_eq!(kv::caller().list("").unwrap(), ["mine"]);
            assert_eq!((kv::preset().get("mine").unwrap(), kv::get("mine").unwrap()), (None, None));
        });
        assert!(Fake::new().run(|| kv::get("a")).is_err(), "a host without a store says so");
    }
}
