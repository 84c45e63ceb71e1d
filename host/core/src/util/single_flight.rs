//! Shared work: callers with the same key wait for one run and its result, which is not cached.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, WeakShared},
};

use crate::lock;

type FlightMap<K, V> = Arc<Mutex<HashMap<K, (u64, WeakShared<BoxFuture<'static, V>>)>>>;

pub struct SingleFlight<K, V: Clone> {
    flights: FlightMap<K, V>,
    next: AtomicU64,
}

impl<K, V: Clone> Default for SingleFlight<K, V> {
    fn default() -> Self {
        Self { flights: FlightMap::default(), next: AtomicU64::new(0) }
    }
}

/// Removes finished or abandoned work from the map.
struct FlightGuard<K: Eq + Hash, V: Clone> {
    flights: FlightMap<K, V>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash, V: Clone> Drop for FlightGuard<K, V> {
    fn drop(&mut self) {
        let mut flights = lock(&self.flights);
        // Newer work may have taken the key.
        if flights.get(&self.key).is_some_and(|(number, _)| *number == self.number) {
            flights.remove(&self.key);
        }
    }
}

impl<K, V> SingleFlight<K, V>
where
    K: Clone + Eq + Hash + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// Returns the result of the running work for this key, or starts `work`. It is dropped when its last caller stops
    /// waiting.
    pub async fn run<F>(&self, key: K, work: impl FnOnce() -> F) -> V
    where
        F: Future<Output = V> + Send + 'static,
    {
        let flight = {
            let mut flights = lock(&self.flights);
            let running = flights.get(&key).and_then(|(_, flight)| flight.upgrade());
            running.unwrap_or_else(|| {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                let ended = FlightGuard { flights: Arc::clone(&self.flights), key: key.clone(), number };
                let work = work();
                let flight = async move {
                    let _ended = ended;
                    work.await
                };
                let flight = flight.boxed().shared();
                // `downgrade` fails only for finished work, and this has not started.
                if let Some(weak) = flight.downgrade() {
                    flights.insert(key, (number, weak));
                }
                flight
            })
        };
        flight.await
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::atomic::AtomicU32, time::Duration};

    use futures_util::future::join_all;
    use tokio::time::{sleep, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn concurrent_callers_share_one_run() {
        let (flights, done) = (SingleFlight::<&str, u32>::default(), Arc::new(AtomicU32::new(0)));
        let work = || {
            let done = Arc::clone(&done);
            async move {
                sleep(Duration::from_secs(1)).await;
                done.fetch_add(1, Ordering::Relaxed)
            }
        };
        let wanted = ["a", "b", "a", "a"].map(|key| flights.run(key, work));
        assert_eq!(join_all(wanted).await.iter().filter(|number| **number == 0).count(), 3);
        assert_eq!(done.load(Ordering::Relaxed), 2);
        assert_eq!(flights.run("a", work).await, 2, "the result is not cached");
        assert!(lock(&flights.flights).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn work_runs_while_a_caller_waits() {
        let flights = SingleFlight::<&str, u32>::default();
        let work = || async {
            sleep(Duration::from_secs(2)).await;
            7
        };
        let second = Duration::from_secs(1);
        let (gave_up, waited) = tokio::join!(timeout(second, flights.run("a", work)), flights.run("a", work));
        assert!(gave_up.is_err());
        assert_eq!(waited, 7);
        assert!(timeout(second, flights.run("a", work)).await.is_err());
        assert!(lock(&flights.flights).is_empty(), "its last caller left");
    }
}
