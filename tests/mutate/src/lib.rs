//! Feeds a function with input that began as a good one and was damaged: what fuzzing is without looking into the program.
//! For tests, on any toolchain; `fuzz/` has the same functions for cargo-fuzz, which does look.
//!
//! In an ordinary test run each target gets a few hundred inputs, the same every time. `cargo xtask fuzz` gives each
//! some seconds and new inputs. A function fails by a panic, or by taking longer than [`LONGEST`].

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

/// How long one input may take, in a debug build beside other tests.
pub const LONGEST: Duration = Duration::from_secs(10);

/// How long each target is run, in seconds, where it is set.
pub const SECONDS: &str = "GATEHOUSE_FUZZ_SECONDS";

/// Where the random numbers begin, where it is set.
pub const SEED: &str = "GATEHOUSE_FUZZ_SEED";

/// Inputs of an ordinary test run.
const INPUTS: u32 = 400;

/// The most bytes of an input.
const MAX_BYTES: usize = 64 << 10;

/// What is fed.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// For messages, and for the file with the input at hand.
    pub name: &'static str,
    /// Good inputs, of which others are made.
    pub seeds: &'static [&'static [u8]],
    /// What means something there; put in at any place.
    pub words: &'static [&'static str],
    /// The function. Whatever it makes of an input is fine, but for a panic.
    pub run: fn(&[u8]),
}

impl Target {
    /// Runs the function on its seeds and on what is made of them.
    ///
    /// # Panics
    /// Where the function does, or takes too long; the message has the input and the seed of the random numbers. The input
    /// of a process that was ended as a whole (a stack that overflowed) is in a file in the folder of temporary files.
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
        if let Err(why) = ran {
            panic!(
                "{} panicked ({}) with {SEED}={seed} at the input b\"{shown}\"",
                self.name,
                words_of(&*why)
            );
        }
        assert!(took < LONGEST, "{} took {took:?} with {SEED}={seed} for the input b\"{shown}\"", self.name);
    }
}

/// The file with the input at hand, gone when all went well.
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
    Some(value.parse().unwrap_or_else(|_| panic!("{variable} is no number: {value}")))
}

fn words_of(why: &(dyn Any + Send)) -> &str {
    let owned = why.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| why.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaks_at_a_brace(input: &[u8]) {
        assert!(!input.starts_with(b"{{"), "two braces");
    }

    const TARGET: Target = Target { name: "braces", seeds: &[b"{a}"], words: &["{"], run: breaks_at_a_brace };

    #[test]
    fn what_breaks_is_found_and_told_with_its_input() {
        let why = catch_unwind(|| TARGET.test()).expect_err("it breaks");
        let why = words_of(&*why).to_owned();
        assert!(why.contains("braces panicked (two braces)") && why.contains("at the input b\"{{"), "{why}");
    }

    #[test]
    fn what_holds_passes() {
        Target { run: |_| (), ..TARGET }.test();
    }
}
