//! Building blocks without domain knowledge: budgets, shared work, hashes, JSON and names.

pub mod budget;
pub mod check_threads;
pub(crate) mod decimal;
pub mod fair_semaphore;
pub mod hash;
pub mod invalid;
pub mod json;
pub mod log_limit;
pub mod names;
pub(crate) mod recent_map;
pub mod single_flight;
pub mod surrogates;
pub mod utc_time;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, ignoring poisoning: guarded data changes in single steps, so it stays consistent after a panic.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Implements `ALL`, `as_str` and `Display` of an enum by the word of each variant.
macro_rules! enum_words {
    ($name:ident { $($variant:ident: $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every variant, in display order.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Returns the fixed word.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

pub(crate) use enum_words;
