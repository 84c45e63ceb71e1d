//! How much a check may still do. Every part of a check pays for its steps here before it takes them, so a
//! check ends after a known number of steps, and soon after nobody waits for it any more.

/// The steps of a check that runs where it was asked for: some tenths of a millisecond.
const SHORT: u64 = 50_000;

/// The most steps that one check may take: about a second.
pub(crate) const MAX_STEPS: u64 = 100_000_000;

/// Steps between two looks at whether somebody still waits: less than a millisecond.
const LOOK_EVERY: u64 = 1 << 16;

/// Why a check ended without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It took all the steps that it may.
    Spent,
    /// Nobody waits for its verdict.
    Abandoned,
}

pub(crate) struct StepBudget<'a> {
    left: u64,
    until_look: u64,
    abandoned: &'a dyn Fn() -> bool,
}

impl StepBudget<'static> {
    /// Of a check that must not take long.
    pub(crate) fn short() -> Self {
        Self::of(SHORT, &|| false)
    }

    /// Of a check that may take long, and that somebody waits for.
    pub(crate) fn awaited() -> Self {
        Self::of(MAX_STEPS, &|| false)
    }
}

impl<'a> StepBudget<'a> {
    /// Of a check that may take long; `abandoned` says whether nobody waits for it any more.
    pub(crate) fn long(abandoned: &'a dyn Fn() -> bool) -> Self {
        Self::of(MAX_STEPS, abandoned)
    }

    pub(super) fn of(steps: u64, abandoned: &'a dyn Fn() -> bool) -> Self {
        Self { left: steps, until_look: LOOK_EVERY, abandoned }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Stopped> {
        self.left = self.left.checked_sub(steps).ok_or(Stopped::Spent)?;
        match self.until_look.checked_sub(steps) {
            Some(left) => self.until_look = left,
            None if (self.abandoned)() => return Err(Stopped::Abandoned),
            None => self.until_look = LOOK_EVERY,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_spent_or_nobody_waits() {
        let mut steps = StepBudget::of(10, &|| false);
        assert_eq!((steps.spend(7), steps.spend(3), steps.spend(1)), (Ok(()), Ok(()), Err(Stopped::Spent)));
        let mut alone = StepBudget::long(&|| true);
        let steps = (0..).take_while(|_| alone.spend(1).is_ok()).count() as u64;
        assert_eq!(steps, LOOK_EVERY);
    }
}
