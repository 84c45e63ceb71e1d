//! Whether calls of a server had better share a connection, or each start the server for itself: one rule, told with its reason.

/// What is known of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerUsage {
    /// It is a program that is started, and not an address.
    pub program: bool,
    /// It is started now.
    pub running: bool,
    /// Calls of its tools in the last seven days.
    pub calls: u64,
    /// Milliseconds that those waited for it to start, all together.
    pub waited_ms: u64,
    /// Tokens of its tools' definitions, where whoever asks would have them in its context.
    pub schema_tokens: Option<usize>,
}

/// What is advised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationAdvice {
    /// Each call has a connection of its own.
    pub isolated: bool,
    /// Why, in a sentence.
    pub reason: String,
}

/// Calls in seven days from which on it pays to keep a server running.
const MIN_FREQUENT_CALLS: u64 = 20;

/// Milliseconds from which on nobody waits for a start with each call.
const MIN_SLOW_START_MS: u64 = 5_000;

/// Tokens of definitions that are too many for a context where they are seldom used.
const MIN_HEAVY_TOKENS: usize = 20_000;

/// The advice: the first line that holds.
pub fn advise(facts: &ServerUsage) -> IsolationAdvice {
    let ServerUsage { program, running, calls, waited_ms, schema_tokens } = *facts;
    let told = |apart, reason: String| IsolationAdvice { isolated: apart, reason };
    let often = format!("its tools were called {calls} times in the last seven days");
    let waited = waited_ms / calls.max(1);
    match schema_tokens {
        _ if !program => told(false, "it is an address, so nothing has to be started for it".into()),
        Some(tokens) if tokens >= MIN_HEAVY_TOKENS => {
            told(true, format!("its tools take {tokens} tokens of each context that has them"))
        }
        _ if running => told(false, "it runs already".into()),
        _ if calls >= MIN_FREQUENT_CALLS => told(false, often),
        _ if waited >= MIN_SLOW_START_MS => told(false, format!("a call waited {waited} ms for it to start")),
        _ => told(true, format!("{often}, so it need not stay")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seldom_used_is_started_for_each_call() {
        let seldom = ServerUsage { program: true, calls: 3, waited_ms: 900, ..ServerUsage::default() };
        assert!(advise(&seldom).isolated);
        for (facts, why) in [
            (ServerUsage { program: false, ..seldom }, "an address"),
            (ServerUsage { running: true, ..seldom }, "runs already"),
            (ServerUsage { calls: 20, ..seldom }, "called 20 times"),
            (ServerUsage { waited_ms: 18_000, ..seldom }, "waited 6000 ms"),
        ] {
            let advice = advise(&facts);
            assert!(!advice.isolated && advice.reason.contains(why), "{advice:?}");
        }
        let heavy = ServerUsage { calls: 500, running: true, schema_tokens: Some(30_000), ..seldom };
        assert!(advise(&heavy).isolated, "{:?}", advise(&heavy));
        assert_eq!(
            advise(&ServerUsage { program: true, ..ServerUsage::default() })
                .reason
                .matches("0 times")
                .count(),
            1
        );
    }
}
