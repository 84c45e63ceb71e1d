//! Workflows: a call runs only if the marks of earlier steps exist, and leaves its own mark. Marks are files in the
//! project directory, so other tools can use them too.
//!
//! The stronger of the request's and the tool's intent selects the step, so a weaker word cannot bypass it.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{Intent, InvalidValue, ToolEntry, ToolSpec, forwarding::forwards};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStep {
    pub workflow: String,
    /// Intents of the calls that are this step.
    pub intents: Vec<Intent>,
    pub requires: Vec<String>,
    /// Mark that a successful call leaves.
    pub produces: Option<String>,
    /// Absolute directories that are projects, or contain them.
    pub roots: Vec<PathBuf>,
}

impl WorkflowStep {
    /// Returns the file name of a mark. A mark with a leading dot is a file name itself; others get the workflow's
    /// name.
    pub fn mark_file(&self, mark: &str) -> String {
        if mark.starts_with('.') { mark.to_owned() } else { format!(".{}-{mark}", self.workflow) }
    }

    pub fn produces_file(&self, file: &str) -> bool {
        self.produces.as_ref().is_some_and(|mark| self.mark_file(mark) == file)
    }

    pub fn intents_in_words(&self) -> String {
        self.intents.iter().map(|intent| intent.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

/// Returns true if this is a valid workflow name, which is part of a file name.
pub fn is_name(name: &str) -> bool {
    let letters = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(letters)
}

/// Returns true if this is a valid mark: a name, or a file name with a leading dot.
pub fn is_mark(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.') else { return is_name(name) };
    let letters = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    (1..=64).contains(&rest.len())
        && rest.bytes().all(letters)
        && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns true if calls of this tool are request envelopes with an intent and a project. Detected by its parameters,
/// not by its gate's name.
pub fn takes_requests(entry: &ToolEntry) -> bool {
    let takes = |key: &str| {
        entry.declared.input_schema.get("properties").is_some_and(|properties| properties.get(key).is_some())
    };
    forwards(entry) && ["intent", "action", "params", "constraints"].into_iter().all(takes)
}

/// Returns the intent of a call without a request envelope.
pub fn intent_of(tool: &ToolSpec) -> Intent {
    tool.intent.at_least(tool.effect)
}

/// Returns the steps of a call, possibly several per workflow. `Execute` can change things too, so without its own step
/// it has those of `Modify`.
pub fn steps_for(all_steps: &[WorkflowStep], intent: Intent) -> Vec<&WorkflowStep> {
    let workflows: BTreeSet<&str> = all_steps.iter().map(|step| &*step.workflow).collect();
    let steps = workflows.into_iter().flat_map(|workflow| {
        let with_intent = |intent: Intent| {
            let is_it =
                move |step: &&WorkflowStep| step.workflow == workflow && step.intents.contains(&intent);
            all_steps.iter().filter(is_it).collect::<Vec<_>>()
        };
        match with_intent(intent) {
            steps if steps.is_empty() && intent == Intent::Execute => with_intent(Intent::Modify),
            steps => steps,
        }
    });
    steps.collect()
}

/// Checks that tools can take every step, and that no steps wait for each other. The error is a sentence about the
/// preset.
pub(crate) fn check(steps: &[WorkflowStep], entries: &[ToolEntry]) -> Result<(), InvalidValue> {
    let mut reached = BTreeSet::new();
    for entry in entries {
        if takes_requests(entry) {
            reached.extend(Intent::ALL);
        } else if forwards(entry) {
            // Tools of servers declare no intents, so only those that match an effect occur.
            reached.extend([Intent::Query, Intent::Modify, Intent::Execute]);
        } else {
            reached.insert(intent_of(&entry.declared));
        }
    }
    let reachable_steps: Vec<&WorkflowStep> =
        reached.into_iter().flat_map(|intent| steps_for(steps, intent)).collect();
    if let Some(step) = steps.iter().find(|step| !reachable_steps.contains(step)) {
        return Err(format!(
            "no tool can take the step {} of workflow '{}'. Add such a tool, or enable the tool `request`: \
            gates.proxy = {{ request = true }}",
            step.intents_in_words(),
            step.workflow
        )
        .into());
    }
    let mut open: Vec<&WorkflowStep> = steps.iter().collect();
    loop {
        let remaining: Vec<&WorkflowStep> =
            open.iter().filter(|step| waits_for(step, steps, &open).is_some()).copied().collect();
        match remaining.first() {
            None => return Ok(()),
            Some(step) if remaining.len() == open.len() => {
                let mark = waits_for(step, steps, &open).unwrap_or_default();
                return Err(format!(
                    "the step {} of workflow '{}' waits for the mark {mark}, but only steps that wait for this step \
                    leave it",
                    step.intents_in_words(),
                    step.workflow
                ).into());
            }
            Some(_) => open = remaining,
        }
    }
}

/// Returns the file of a mark that a step requires and only open steps leave.
fn waits_for(step: &WorkflowStep, all_steps: &[WorkflowStep], open: &[&WorkflowStep]) -> Option<String> {
    step.requires.iter().map(|mark| step.mark_file(mark)).find(|file| {
        let mut leaving = all_steps.iter().filter(|producer| producer.produces_file(file)).peekable();
        leaving.peek().is_some() && leaving.all(|producer| open.contains(&producer))
    })
}

#[cfg(test)]
mod tests;
