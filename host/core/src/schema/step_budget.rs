//! Step budgets, which bound the time of a check. Each part of a check pays for its steps in advance.

/// Maximum steps of a check on the caller's thread: some tenths of a millisecond.
const MAX_INLINE_STEPS: u64 = 50_000;

/// Maximum steps of any check: about a second.
pub(crate) const MAX_STEPS: u64 = 100_000_000;

/// Steps between two calls of `abandoned`: less than a millisecond.
const STEPS_BETWEEN_POLLS: u64 = 1 << 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckInterrupt {
    OutOfSteps,
    /// The caller stopped waiting.
    Abandoned,
}

pub(crate) struct StepBudget<'a> {
    left: u64,
    until_poll: u64,
    abandoned: &'a dyn Fn() -> bool,
}

impl StepBudget<'static> {
    pub(crate) fn new_short() -> Self {
        Self::with_steps(MAX_INLINE_STEPS, &|| false)
    }

    pub(crate) fn new_awaited() -> Self {
        Self::with_steps(MAX_STEPS, &|| false)
    }
}

impl<'a> StepBudget<'a> {
    /// Creates a budget for a long check. `abandoned` returns true once its caller has stopped waiting.
    pub(crate) fn new_long(abandoned: &'a dyn Fn() -> bool) -> Self {
        Self::with_steps(MAX_STEPS, abandoned)
    }

    pub(super) fn with_steps(steps: u64, abandoned: &'a dyn Fn() -> bool) -> Self {
        Self { left: steps, until_poll: STEPS_BETWEEN_POLLS, abandoned }
    }

    pub(super) fn spend(&mut self, steps: u64) -> Result<(), CheckInterrupt> {
        self.left = self.left.checked_sub(steps).ok_or(CheckInterrupt::OutOfSteps)?;
        match self.until_poll.checked_sub(steps) {
            Some(left) => self.until_poll = left,
            None if (self.abandoned)() => return Err(CheckInterrupt::Abandoned),
            None => self.until_poll = STEPS_BETWEEN_POLLS,
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budget_ends_when_spent_or_abandoned() {
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
