//! Lets a call through if its previous workflow steps are done, and marks its own step. See [`crate::workflow`].
//!
//! The stage follows *validate* and precedes *approve*. A request is checked before anything runs, by its declared
//! intent and effect. Nested calls are checked by the called tool's effect, as are all calls without a request.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde_json::{Value, json};
use url::Url;

use super::{Next, Stage};
use crate::{
    call::{Call, CallContext},
    catalog::ToolEntry,
    effect::Intent,
    envelope::RequestClaim,
    forwarding::forwards,
    outcome::{ContentPart, Fault, Outcome, Reply},
    ports::WorkflowMarks,
    workflow::{WorkflowStep, intent_of, steps_for, takes_requests},
};

pub struct WorkflowStage {
    marks: Arc<dyn WorkflowMarks>,
}

struct StepContext<'a> {
    intent: Intent,
    /// The request, if the call is one or is nested in one. It may name the project.
    claim: Option<&'a Arc<RequestClaim>>,
    /// True for a dry run, which leaves no mark.
    rehearsal: bool,
    /// True if the reply is a JSON object with `meta`.
    is_request: bool,
}

type ProjectRoot = (String, &'static str);

impl WorkflowStage {
    pub fn new(marks: Arc<dyn WorkflowMarks>) -> Self {
        Self { marks }
    }

    async fn require_marks(
        &self,
        context: &CallContext,
        turn: &StepContext<'_>,
        steps: &[&WorkflowStep],
    ) -> Result<PathBuf, Fault> {
        let named = if steps.is_empty() { None } else { project_root(context, turn.claim).await? };
        let mut project = PathBuf::new();
        for step in steps {
            project = match &named {
                Some((root, origin)) => self.marks.project(origin, root, &step.roots).await?,
                None => self
                    .working_directory(context, step)
                    .await
                    .ok_or_else(|| no_project(context, turn, step))?,
            };
            for mark in &step.requires {
                let file = step.mark_file(mark);
                if !self.marks.exists(&project, &file).await? {
                    return Err(missing_mark(
                        step,
                        &context.catalog.workflow,
                        mark,
                        &project.join(file).display().to_string(),
                    ));
                }
            }
        }
        Ok(project)
    }

    /// Returns the caller's working directory. `None` if it is on another machine, or outside the step's roots.
    async fn working_directory(&self, context: &CallContext, step: &WorkflowStep) -> Option<PathBuf> {
        let directory = context.working_directory.as_ref()?.to_str()?;
        self.marks.project("the working directory", directory, &step.roots).await.ok()
    }

    /// Creates marks, and adds their names and failures to the reply.
    async fn write_marks(
        &self,
        steps: &[&WorkflowStep],
        project: &std::path::Path,
        is_request: bool,
        reply: &mut Reply,
    ) {
        let (mut left, mut failed) = (Vec::new(), Vec::new());
        for step in steps {
            let Some(file) = step.produces.as_ref().map(|mark| step.mark_file(mark)) else { continue };
            match self.marks.create(project, &file).await {
                Ok(()) => left.push(file),
                Err(fault) => failed.push(format!("cannot create the mark {file}: {}", fault.in_one_line())),
            }
        }
        if is_request && add_marks_to_meta(reply, &left, &failed) {
            return;
        }
        for why in failed {
            reply.content.push(ContentPart::Text(why));
        }
    }
}

#[async_trait]
impl Stage for WorkflowStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        let claim =
            takes_requests(entry).then(|| RequestClaim::read(&call.arguments)).flatten().map(Arc::new);
        if let Some(claim) = &claim {
            let _ = context.claim.set(Arc::clone(claim));
        }
        let all = &context.catalog.workflow;
        if all.is_empty() {
            return next.run(call).await;
        }
        let Some(step_context) = turn(&context, entry, claim.as_ref(), &call.arguments) else {
            return next.run(call).await;
        };
        let steps = steps_for(all, step_context.intent);
        let project = self.require_marks(&context, &step_context, &steps).await?;
        let mut reply = next.run(call).await?;
        if !reply.is_error && !step_context.rehearsal {
            self.write_marks(&steps, &project, step_context.is_request, &mut reply).await;
        }
        Ok(reply)
    }
}

/// Returns the step context of a call. `None` if its nested calls, or the request that it serves, are checked instead.
fn turn<'a>(
    context: &'a CallContext,
    entry: &ToolEntry,
    claim: Option<&'a Arc<RequestClaim>>,
    arguments: &Value,
) -> Option<StepContext<'a>> {
    if let Some(claim) = claim {
        let (intent, rehearsal) = (claim.intent, claim.dry_run);
        return Some(StepContext { intent, claim: Some(claim), rehearsal, is_request: true });
    }
    if forwards(entry) {
        return None;
    }
    let (intent, outer) = (intent_of(&entry.declared), context.outer_claim.as_ref());
    if outer.is_some_and(|outer| outer.intent >= intent) {
        return None;
    }
    let rehearsal = entry.declared.dry_run.as_ref().is_some_and(|argument| {
        let set = entry.fixed.get(argument).or_else(|| arguments.get(argument));
        set == Some(&Value::Bool(true))
    });
    Some(StepContext { intent, claim: outer, rehearsal, is_request: false })
}

/// Returns the project directory from the request, the preset or the client's only root, in this order.
async fn project_root(
    context: &CallContext,
    claim: Option<&Arc<RequestClaim>>,
) -> Result<Option<ProjectRoot>, Fault> {
    if let Some(root) = claim.and_then(|claim| claim.project_root.clone()) {
        return Ok(Some((root, "context.project_root")));
    }
    if let Some(project) = &context.catalog.project {
        return Ok(Some((project.display().to_string(), "project of the preset")));
    }
    let roots = context.client_roots().await?;
    let [root] = &roots[..] else { return Ok(None) };
    let path =
        Url::parse(root).ok().filter(|url| url.scheme() == "file").and_then(|url| url.to_file_path().ok());
    Ok(path.map(|path| (path.display().to_string(), "the client's root")))
}

fn no_project(context: &CallContext, turn: &StepContext<'_>, step: &WorkflowStep) -> Fault {
    let why = format!("workflow '{}' requires a project directory", step.workflow);
    let fault = if turn.is_request { Fault::invalid(why) } else { Fault::denied(why) };
    let preset = &context.catalog.preset;
    fault.hint(format!(
        "Set context.project_root in the request, or project = \"DIR\" under [presets.{preset}] in presets.toml."
    ))
}

/// Adds marks to the `meta` of an answer. Returns false if the reply is not a JSON object with `meta`.
fn add_marks_to_meta(reply: &mut Reply, left: &[String], failed: &[String]) -> bool {
    let Some(ContentPart::Text(text)) = reply.content.first_mut() else { return false };
    let Ok(Value::Object(mut answer)) = serde_json::from_str::<Value>(text) else { return false };
    let Some(meta) = answer.get_mut("meta").and_then(Value::as_object_mut) else { return false };
    if !left.is_empty() {
        meta.insert("marks".into(), json!(left));
    }
    if !failed.is_empty() {
        meta.insert("marks_failed".into(), json!(failed));
    }
    if !left.is_empty() || !failed.is_empty() {
        *text = Value::Object(answer).to_string();
    }
    true
}

fn missing_mark(step: &WorkflowStep, all: &[WorkflowStep], mark: &str, file: &str) -> Fault {
    let name = step.mark_file(mark);
    let how = match all.iter().find(|one| one.produces_file(&name) && !one.intents.is_empty()) {
        Some(one) => format!("A successful request with the intent {} creates it.", one.intents_in_words()),
        None => format!("The file {file} must be created outside the workflow when that step is done."),
    };
    let workflow = &step.workflow;
    Fault::denied(format!("workflow '{workflow}' requires the mark '{mark}' ({file}); nothing was run"))
        .hint(how)
}

#[cfg(test)]
mod tests;
