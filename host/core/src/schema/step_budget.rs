//! How much a check may still do. Every part of a check pays for its steps here before it takes them, so a
//! check ends after a known number of steps, and soon after nobody waits for it any more.

/// The steps of a check that runs where it was asked for: some tenths of a millisecond.
const MAX_INLINE_STEPS: u64 = 50_000;

/// The most steps that one check may take: about a second.
pub(crate) const MAX_STEPS: u64 = 100_000_000;

/// Steps between two looks at whether somebody still waits: less than a millisecond.
const STEPS_BETWEEN_POLLS: u64 = 1 << 16;

/// Why a check ended without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckInterrupt {
    /// It took all the steps that it may.
    OutOfSteps,
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
    pub(crate) fn new_short() -> Self {
        Self::with_steps(MAX_INLINE_STEPS, &|| false)
    }

    /// Of a check that may take long, and that somebody waits for.
    pub(crate) fn new_awaited() -> Self {
        Self::with_steps(MAX_STEPS, &|| false)
    }
}

impl<'a> StepBudget<'a> {
    /// Of a check that may take long; `abandoned` says whether nobody waits for it any more.
    pub(crate) fn new_long(abandoned: &'a dyn Fn() -> bool) -> Self {
        Self::with_steps(MAX_STEPS, abandoned)
    }

    pub(super) fn with_steps(steps: u64, abandoned: &'a dyn Fn() -> bool) -> Self {
        Self { left: steps, until_look: STEPS_BETWEEN_POLLS, abandoned }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), CheckInterrupt> {
        self.left = self.left.checked_sub(steps).ok_or(CheckInterrupt::OutOfSteps)?;
        match self.until_look.checked_sub(steps) {
            Some(left) => self.until_look = left,
            None if (self.abandoned)() => return Err(CheckInterrupt::Abandoned),
            None => self.until_look = STEPS_BETWEEN_POLLS,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_it_is_spent_or_nobody_waits() {
        let mut steps = StepBudget::with_steps(10, &|| false);
        assert_eq!(
            (steps.spend(7), steps.spend(3), steps.spend(1)),
            (Ok(()), Ok(()), Err(CheckInterrupt::OutOfSteps))
        );
        let mut alone = StepBudget::new_long(&|| true);
        let steps = (0..).take_while(|_| alone.spend(1).is_ok()).count() as u64;
        assert_eq!(steps, STEPS_BETWEEN_POLLS);
    }
}
