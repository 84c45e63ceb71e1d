//! What a client's model is told when it connects: what the gates of its preset are for, in their own words,
//! and then what the preset says. A gate gets no more room than its share, so none can crowd the others out.

/// The most that is told of gates, in bytes: some 300 tokens of English. To count tokens would cost every start the
/// tables of a vocabulary, more than all else it does.
const BUDGET: usize = 1_200;

const HEAD: &str = "The tools here come from these gates:";

/// The instructions of a preset: `gates` are names and summaries, in the order of the preset.
pub(super) fn instructions(gates: &[(&str, &str)], description: Option<&str>) -> Option<String> {
    let told = told(gates);
    let parts: Vec<&str> = told.as_deref().into_iter().chain(description).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// A line for each gate, within the budget.
fn told(gates: &[(&str, &str)]) -> Option<String> {
    let lines: Vec<String> = gates
        .iter()
        .map(|(name, summary)| (name, one_line(summary)))
        .filter(|(_, summary)| !summary.is_empty())
        .map(|(name, summary)| format!("\n- {name}: {summary}"))
        .collect();
    let whole = format!("{HEAD}{}", lines.concat());
    if lines.is_empty() || whole.len() <= BUDGET {
        return (!lines.is_empty()).then_some(whole);
    }
    let mut text = HEAD.to_owned();
    for (done, line) in lines.iter().enumerate() {
        // What short lines leave goes to those that follow.
        let left = BUDGET.saturating_sub(text.len()) / (lines.len() - done);
        text.push_str(&cut(line, left));
    }
    Some(text)
}

/// Text of strangers: whatever it holds, it stays in its line.
fn one_line(text: &str) -> String {
    // More than the whole budget could hold, and little enough to be counted again and again.
    let words: String = text.chars().take(BUDGET * 4).collect();
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The line whole, or its beginning and an ellipsis, or nothing where not even some words fit.
fn cut(line: &str, budget: usize) -> String {
    if line.len() <= budget {
        return line.to_owned();
    }
    let mut end = line.len();
    loop {
        end = line[..end].rfind(' ').unwrap_or(0);
        // Before the first word of the summary there is the gate's name alone.
        if !line[..end].trim_start_matches("\n- ").contains(' ') {
            return String::new();
        }
        let shorter = format!("{} …", &line[..end]);
        if shorter.len() <= budget {
            return shorter;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_come_before_the_preset() {
        let gates = [("kg", "Searches the graph."), ("web", "Asks\nthe  web."), ("mute", " ")];
        assert_eq!(
            instructions(&gates, Some("For tests.")).as_deref(),
            Some(
                "The tools here come from these gates:\n- kg: Searches the graph.\n- web: Asks the web.\n\nFor tests."
            )
        );
        assert_eq!(instructions(&[], Some("For tests.")).as_deref(), Some("For tests."));
        assert_eq!(instructions(&[("mute", "")], None), None);
    }

    #[test]
    fn a_gate_that_talks_much_leaves_room_for_the_others() {
        let long = "words and more words that never end ".repeat(2_000);
        let glued = "x".repeat(60_000);
        let gates = [("long", long.as_str()), ("glued", &glued), ("last", "Is heard too.")];
        let told = instructions(&gates, None).expect("text");
        assert!(told.len() <= BUDGET, "{} bytes", told.len());
        assert!(told.contains("\n- long: words and more") && told.contains(" …\n"), "{told}");
        assert!(told.ends_with("\n- last: Is heard too."), "{told}");
        assert!(!told.contains("xxx"), "{told}");
    }

    #[test]
    fn a_hundred_gates_stay_within_the_budget() {
        let names: Vec<String> = (0..100).map(|n| format!("gate-{n:03}")).collect();
        let gates: Vec<(&str, &str)> =
            names.iter().map(|name| (name.as_str(), "Does one thing well.")).collect();
        let told = instructions(&gates, None).expect("text");
        assert!(told.len() <= BUDGET, "{} bytes", told.len());
    }
}
