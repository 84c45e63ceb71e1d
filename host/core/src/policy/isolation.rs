//! Advice on whether calls of a server should share a connection or each start the server.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerUsage {
    /// True for a program that is started, false for a URL.
    pub program: bool,
    pub running: bool,
    /// Calls of its tools in the last seven days.
    pub calls: u64,
    pub waited_ms: u64,
    /// Tokens of its tool definitions, if they are in the caller's context.
    pub schema_tokens: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsolationAdvice {
    pub isolated: bool,
    pub reason: String,
}

/// Minimum calls in seven days that justify a running server.
const MIN_FREQUENT_CALLS: u64 = 20;

/// Start time in milliseconds that is too long to repeat for each call.
const MIN_SLOW_START_MS: u64 = 5_000;

/// Tokens of definitions that are too many for rarely used tools.
const MIN_HEAVY_TOKENS: usize = 20_000;

/// Returns the advice of the first rule that matches.
pub fn advise(facts: &ServerUsage) -> IsolationAdvice {
    let ServerUsage { program, running, calls, waited_ms, schema_tokens } = *facts;
    let advice = |isolated, reason: String| IsolationAdvice { isolated, reason };
    let often = format!("its tools were called {calls} times in the last seven days");
    let waited = waited_ms / calls.max(1);
    match schema_tokens {
        _ if !program => advice(false, "it has a URL, so no program has to be started".into()),
        Some(tokens) if tokens >= MIN_HEAVY_TOKENS => {
            advice(true, format!("its tool definitions take {tokens} tokens of a context"))
        }
        _ if running => advice(false, "it is already running".into()),
        _ if calls >= MIN_FREQUENT_CALLS => advice(false, often),
        _ if waited >= MIN_SLOW_START_MS => {
            advice(false, format!("calls waited {waited} ms on average for it to start"))
        }
        _ => advice(true, format!("{often}, so it does not need to keep running")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rarely_used_server_is_isolated() {
        let seldom = ServerUsage { program: true, calls: 3, waited_ms: 900, ..ServerUsage::default() };
        assert!(advise(&seldom).isolated);
        for (facts, reason) in [
            (ServerUsage { program: false, ..seldom }, "has a URL"),
            (ServerUsage { running: true, ..seldom }, "already running"),
            (ServerUsage { calls: 20, ..seldom }, "called 20 times"),
            (ServerUsage { waited_ms: 18_000, ..seldom }, "waited 6000 ms"),
        ] {
            let advice = advise(&facts);
            assert!(!advice.isolated && advice.reason.contains(reason), "{advice:?}");
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
