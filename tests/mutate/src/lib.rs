//! Feeds a function with damaged copies of good inputs: fuzzing without coverage feedback, for tests on any toolchain.
//! `fuzz/` runs the same functions with cargo-fuzz, which has that feedback.
//!
//! In an ordinary test run each target gets 400 inputs, the same every time. `cargo xtask fuzz` runs each for some
//! seconds with new inputs. A function fails if it panics or takes longer than [`LONGEST`].

mod damage;
mod random;

use std::{
    any::Any,
    env, fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::{Duration, Instant},
};

use self::{damage::damage, random::Random};

/// Maximum time for one input, in a debug build next to other tests.
pub const LONGEST: Duration = Duration::from_secs(10);

pub const SECONDS: &str = "GATEHOUSE_FUZZ_SECONDS";

pub const SEED: &str = "GATEHOUSE_FUZZ_SEED";

const INPUTS: u32 = 400;

const MAX_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name for messages and for the file with the current input.
    pub name: &'static str,
    pub seeds: &'static [&'static [u8]],
    /// Tokens of the format, inserted at random positions.
    pub words: &'static [&'static str],
    /// The function. It may do anything with an input except panic.
    pub run: fn(&[u8]),
}

impl Target {
    /// Runs the function on its seeds and on damaged copies of them.
    ///
    /// # Panics
    /// If the function panics or takes too long; the message has the input and the random seed. If the whole process
    /// dies, for example by a stack overflow, the input is in a file in the temporary directory.
    pub fn test(&self) {
        let seed = number(SEED).unwrap_or(1);
        let time = number(SECONDS).map(Duration::from_secs);
        let mut random =
            Random::new(seed ^ self.name.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte)));
        let at_hand = At::new(self.name);
        for input in self.seeds {
            self.feed(input, seed, &at_hand);
        }
        let start = Instant::now();
        let mut inputs = 0;
        while time.map_or(inputs < INPUTS, |time| start.elapsed() < time) {
            let input = damage(self.seeds, self.words, MAX_BYTES, &mut random);
            self.feed(&input, seed, &at_hand);
            inputs += 1;
        }
    }

    fn feed(&self, input: &[u8], seed: u64, at_hand: &At) {
        at_hand.is(input);
        let start = Instant::now();
        let ran = catch_unwind(AssertUnwindSafe(|| (self.run)(input)));
        let took = start.elapsed();
        let shown = input.escape_ascii();
        if let Err(reason) = ran {
            panic!(
                "{} panicked ({}) with {SEED}={seed} at the input b\"{shown}\"",
                self.name,
                words_of(&*reason)
            );
        }
        assert!(took < LONGEST, "{} took {took:?} with {SEED}={seed} for the input b\"{shown}\"", self.name);
    }
}

/// The file with the current input, removed on success.
struct At(PathBuf);

impl At {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("gatehouse-fuzz-{name}-{}", std::process::id())))
    }

    fn is(&self, input: &[u8]) {
        fs::write(&self.0, input).unwrap_or_else(|error| panic!("{}: {error}", self.0.display()));
    }
}

impl Drop for At {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_file(&self.0);
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("invalid value '{value}' for {variable}: expected a whole number")),
    )
}

fn words_of(reason: &(dyn Any + Send)) -> &str {
    let owned = reason.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| reason.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks_at_a_brace(input: &[u8]) {
        assert!(!input.starts_with(b"{{"), "two braces");
    }

    const TARGET: Target = Target { name: "braces", seeds: &[b"{a}"], words: &["{"], run: breaks_at_a_brace };

    #[test]
    fn a_panic_is_found_and_reported_with_its_input() {
        let reason = catch_unwind(|| TARGET.test()).expect_err("it breaks");
        let reason = words_of(&*reason).to_owned();
        assert!(
            reason.contains("braces panicked (two braces)") && reason.contains("at the input b\"{{"),
            "{reason}"
        );
    }

    #[test]
    fn what_holds_passes() {
        Target { run: |_| (), ..TARGET }.test();
    }
}
