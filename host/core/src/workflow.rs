//! Steps of work that come one after the other: a call is let through when the marks of the steps before are there, and leaves
//! its own. Marks are files in the project's directory, so other tools may read and write them, too.
//!
//! The step of a call is chosen by the strongest of what its request says and what its tool may do, so a weaker word does not
//! lead around a step.

use std::{collections::BTreeSet, path::PathBuf};

use crate::{catalog::ToolEntry, effect::Intent, forwarding::forwards, tool::ToolSpec};

/// A step of a workflow, as a preset declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowStep {
    /// The workflow.
    pub workflow: String,
    /// Calls with these intents are this step.
    pub intents: Vec<Intent>,
    /// Marks that have to be there.
    pub requires: Vec<String>,
    /// The mark that is left by a call that did what it was asked.
    pub produces: Option<String>,
    /// Directories in which, or below which, projects may be; absolute.
    pub roots: Vec<PathBuf>,
}

impl WorkflowStep {
    /// The name of a mark's file. A mark that begins with a dot is named so by the preset; others carry the workflow's name.
    pub fn mark_file(&self, mark: &str) -> String {
        if mark.starts_with('.') { mark.to_owned() } else { format!(".{}-{mark}", self.workflow) }
    }

    /// Returns true if it leaves the mark with this file.
    pub fn produces_file(&self, file: &str) -> bool {
        self.produces.as_ref().is_some_and(|mark| self.mark_file(mark) == file)
    }

    /// The intents in words.
    pub fn intents_in_words(&self) -> String {
        self.intents.iter().map(|intent| intent.as_str()).collect::<Vec<_>>().join(" or ")
    }
}

/// Returns true if a workflow may be called so: its name is part of the name of a file.
pub fn is_name(name: &str) -> bool {
    let letters = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(letters)
}

/// Returns true if a mark may be called so: a name, or the name of a file that begins with a dot.
pub fn is_mark(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('.') else { return is_name(name) };
    let letters = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    (1..=64).contains(&rest.len())
        && rest.bytes().all(letters)
        && rest.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Returns true if calls of this tool are requests, which say their intent and their project. It is known by what it takes,
/// whatever its gate is called.
pub fn takes_requests(entry: &ToolEntry) -> bool {
    let takes =
        |key: &str| entry.declared.input_schema.get("properties").is_some_and(|all| all.get(key).is_some());
    forwards(entry) && ["intent", "action", "params", "constraints"].into_iter().all(takes)
}

/// The intent of a call that comes without a request.
pub fn intent_of(tool: &ToolSpec) -> Intent {
    tool.intent.at_least(tool.effect)
}

/// The steps of a call, one or more of each workflow. What runs things can change them, too: without a step of its own it has
/// those of changes.
pub fn steps_for(all: &[WorkflowStep], intent: Intent) -> Vec<&WorkflowStep> {
    let workflows: BTreeSet<&str> = all.iter().map(|step| &*step.workflow).collect();
    let steps = workflows.into_iter().flat_map(|workflow| {
        let with = |intent: Intent| {
            let is_it =
                move |step: &&WorkflowStep| step.workflow == workflow && step.intents.contains(&intent);
            all.iter().filter(is_it).collect::<Vec<_>>()
        };
        match with(intent) {
            none if none.is_empty() && intent == Intent::Execute => with(Intent::Modify),
            own => own,
        }
    });
    steps.collect()
}

/// Checks that every step can be taken: by some of these tools, and after steps that do not wait for it themselves. The error
/// is a sentence about the preset.
pub(crate) fn check(all: &[WorkflowStep], entries: &[ToolEntry]) -> Result<(), String> {
    let mut reached = BTreeSet::new();
    for entry in entries {
        if takes_requests(entry) {
            reached.extend(Intent::ALL);
        } else if forwards(entry) {
            // Servers' tools declare no intent, so that they only have those that go with an effect.
            reached.extend([Intent::Query, Intent::Modify, Intent::Execute]);
        } else {
            reached.insert(intent_of(&entry.declared));
        }
    }
    let taken: Vec<&WorkflowStep> = reached.into_iter().flat_map(|intent| steps_for(all, intent)).collect();
    if let Some(step) = all.iter().find(|step| !taken.contains(step)) {
        return Err(format!(
            "no tool can take the step {} of workflow '{}'. Add a tool that does so, or the tool request: gates.proxy = \
             {{ request = true }}",
            step.intents_in_words(),
            step.workflow
        ));
    }
    let mut open: Vec<&WorkflowStep> = all.iter().collect();
    loop {
        let left: Vec<&WorkflowStep> =
            open.iter().filter(|step| waits_for(step, all, &open).is_some()).copied().collect();
        match left.first() {
            None => return Ok(()),
            Some(step) if left.len() == open.len() => {
                let mark = waits_for(step, all, &open).unwrap_or_default();
                return Err(format!(
                    "the step {} of workflow '{}' waits for the mark {mark}, which only steps leave that wait for this one",
                    step.intents_in_words(),
                    step.workflow
                ));
            }
            Some(_) => open = left,
        }
    }
}

/// The file of a mark that a step needs and that only open steps leave. A mark that no step leaves is made outside.
fn waits_for(step: &WorkflowStep, all: &[WorkflowStep], open: &[&WorkflowStep]) -> Option<String> {
    step.requires.iter().map(|mark| step.mark_file(mark)).find(|file| {
        let mut leaving = all.iter().filter(|one| one.produces_file(file)).peekable();
        leaving.peek().is_some() && leaving.all(|one| open.contains(&one))
    })
}

#[cfg(test)]
mod tests;
