//! Quotas: limits on the use of callers, in windows of time. `quota_meter` counts the use.

use std::{str::FromStr, sync::Arc};

use crate::{caller_patterns::CallerPatterns, util::enum_words};

/// Length of a window. Windows are fixed: each begins at a full minute, hour or day in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaPeriod {
    Minute,
    Hour,
    Day,
}

enum_words! { QuotaPeriod { Minute: "minute", Hour: "hour", Day: "day" } }

impl QuotaPeriod {
    pub const fn millis(self) -> u64 {
        match self {
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
        }
    }

    /// Returns the beginning of the window that contains `now`, both in milliseconds since 1970.
    pub const fn window_start(self, now: u64) -> u64 {
        now - now % self.millis()
    }
}

/// An amount per window, written `1000 per hour`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaAllowance {
    pub amount: u64,
    pub period: QuotaPeriod,
}

impl FromStr for QuotaAllowance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("invalid quota '{text}': expected for example \"1000 per hour\"");
        let mut words = text.split_whitespace();
        let (amount, per, period) = (words.next(), words.next(), words.next());
        if per != Some("per") || words.next().is_some() {
            return Err(wrong());
        }
        let amount = amount.and_then(|amount| amount.parse().ok()).filter(|amount| *amount > 0);
        let period = QuotaPeriod::ALL.into_iter().find(|candidate| Some(candidate.as_str()) == period);
        let (Some(amount), Some(period)) = (amount, period) else {
            return Err(format!("{}, per minute, hour or day", wrong()));
        };
        Ok(Self { amount, period })
    }
}

/// A named quota. Each principal that matches has its own share of everything it limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaRule {
    pub name: Arc<str>,
    pub who: CallerPatterns,
    pub calls: Option<QuotaAllowance>,
    pub tokens: Option<QuotaAllowance>,
    /// Maximum concurrent calls of clients.
    pub concurrency: Option<u32>,
    /// Maximum bytes of artifacts and kv.
    pub stored: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allowance_is_an_amount_per_period() {
        let read = |text: &str| text.parse::<QuotaAllowance>();
        assert_eq!(read("1000 per hour"), Ok(QuotaAllowance { amount: 1_000, period: QuotaPeriod::Hour }));
        assert_eq!(read(" 1  per day "), Ok(QuotaAllowance { amount: 1, period: QuotaPeriod::Day }));
        for wrong in ["", "1000", "1000/hour", "0 per day", "-1 per day", "1 per week", "1 per day each"] {
            let reason = read(wrong).expect_err(wrong);
            assert!(reason.starts_with(&format!("invalid quota '{wrong}'")), "{reason}");
        }
    }

    #[test]
    fn windows_begin_at_full_periods() {
        let at = 1_767_960_061_234;
        assert_eq!(QuotaPeriod::Minute.window_start(at), 1_767_960_060_000);
        assert_eq!(QuotaPeriod::Hour.window_start(at), 1_767_960_000_000);
        assert_eq!(QuotaPeriod::Day.window_start(at), 1_767_916_800_000);
    }
}
