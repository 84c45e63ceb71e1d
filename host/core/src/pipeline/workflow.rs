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
    Call, CallContext, ContentPart, Fault, Intent, Outcome, Reply, ToolEntry,
    envelope::RequestEnvelope,
    forwarding::forwards,
    ports::WorkflowMarks,
    workflow::{WorkflowStep, intent_of, steps_for, takes_requests},
};

pub struct WorkflowStage {
    marks: Arc<dyn WorkflowMarks>,
}

struct StepContext<'a> {
    intent: Intent,
    /// The request, if the call is one or is nested in one. It may name the project.
    envelope: Option<&'a Arc<RequestEnvelope>>,
    /// True for a dry run, which leaves no mark.
    dry_run: bool,
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
        step_context: &StepContext<'_>,
        steps: &[&WorkflowStep],
    ) -> Result<PathBuf, Fault> {
        let root = if steps.is_empty() { None } else { project_root(context, step_context.envelope).await? };
        let mut project = PathBuf::new();
        for step in steps {
            project = match &root {
                Some((root, origin)) => self.marks.project(origin, root, &step.roots).await?,
                None => self
                    .working_directory(context, step)
                    .await
                    .ok_or_else(|| no_project(context, step_context, step))?,
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
        let (mut created, mut failed) = (Vec::new(), Vec::new());
        for step in steps {
            let Some(file) = step.produces.as_ref().map(|mark| step.mark_file(mark)) else { continue };
            match self.marks.create(project, &file).await {
                Ok(()) => created.push(file),
                Err(fault) => failed.push(format!("cannot create the mark {file}: {}", fault.in_one_line())),
            }
        }
        if is_request && add_marks_to_meta(reply, &created, &failed) {
            return;
        }
        for reason in failed {
            reply.content.push(ContentPart::Text(reason));
        }
    }
}

#[async_trait]
impl Stage for WorkflowStage {
    fn applies(&self, call: &Call) -> bool {
        // Requests are read for the stages after this one, too.
        !call.context.catalog.workflow.is_empty()
            || call.context.entry().is_ok_and(|entry| takes_requests(entry))
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        let envelope =
            takes_requests(entry).then(|| RequestEnvelope::read(&call.arguments)).flatten().map(Arc::new);
        if let Some(envelope) = &envelope {
            let _ = context.envelope.set(Arc::clone(envelope));
        }
        let workflow = &context.catalog.workflow;
        if workflow.is_empty() {
            return next.run(call).await;
        }
        let Some(step_context) = step_context(&context, entry, envelope.as_ref(), &call.arguments) else {
            return next.run(call).await;
        };
        let steps = steps_for(workflow, step_context.intent);
        let project = self.require_marks(&context, &step_context, &steps).await?;
        let mut reply = next.run(call).await?;
        if !reply.is_error && !step_context.dry_run {
            self.write_marks(&steps, &project, step_context.is_request, &mut reply).await;
        }
        Ok(reply)
    }
}

/// Returns the step context of a call. `None` if its nested calls, or the request that it serves, are checked instead.
fn step_context<'a>(
    context: &'a CallContext,
    entry: &ToolEntry,
    envelope: Option<&'a Arc<RequestEnvelope>>,
    arguments: &Value,
) -> Option<StepContext<'a>> {
    if let Some(envelope) = envelope {
        let (intent, dry_run) = (envelope.intent, envelope.dry_run);
        return Some(StepContext { intent, envelope: Some(envelope), dry_run, is_request: true });
    }
    if forwards(entry) {
        return None;
    }
    let (intent, outer) = (intent_of(&entry.declared), context.outer_envelope.as_ref());
    if outer.is_some_and(|outer| outer.intent >= intent) {
        return None;
    }
    let dry_run = entry.declared.dry_run.as_ref().is_some_and(|argument| {
        let set = entry.fixed.get(argument).or_else(|| arguments.get(argument));
        set == Some(&Value::Bool(true))
    });
    Some(StepContext { intent, envelope: outer, dry_run, is_request: false })
}

/// Returns the project directory from the request, the preset or the client's only root, in this order.
async fn project_root(
    context: &CallContext,
    envelope: Option<&Arc<RequestEnvelope>>,
) -> Result<Option<ProjectRoot>, Fault> {
    if let Some(root) = envelope.and_then(|envelope| envelope.project_root.clone()) {
        return Ok(Some((root, "context.project_root")));
    }
    if let Some(project) = &context.catalog.project {
        return Ok(Some((project.display().to_string(), "project of the preset")));
    }
    let roots = context.client_roots().await?;
    let [root] = &roots[..] else { return Ok(None) };
    let path = Url::parse(&root.uri)
        .ok()
        .filter(|url| url.scheme() == "file")
        .and_then(|url| url.to_file_path().ok());
    Ok(path.map(|path| (path.display().to_string(), "the client's root")))
}

fn no_project(context: &CallContext, step_context: &StepContext<'_>, step: &WorkflowStep) -> Fault {
    let reason = format!("workflow '{}' requires a project directory", step.workflow);
    let fault = if step_context.is_request { Fault::invalid(reason) } else { Fault::denied(reason) };
    let preset = &context.catalog.preset;
    fault.hint(format!(
        "Set context.project_root in the request, or project = \"DIR\" under [presets.{preset}] in presets.toml."
    ))
}

/// Adds marks to the `meta` of an answer. Returns false if the reply is not a JSON object with `meta`.
fn add_marks_to_meta(reply: &mut Reply, created: &[String], failed: &[String]) -> bool {
    let Some(ContentPart::Text(text)) = reply.content.first_mut() else { return false };
    let Ok(Value::Object(mut answer)) = serde_json::from_str::<Value>(text) else { return false };
    let Some(meta) = answer.get_mut("meta").and_then(Value::as_object_mut) else { return false };
    for (key, marks) in [("marks", created), ("marks_failed", failed)] {
        if !marks.is_empty() {
            meta.insert(key.into(), json!(marks));
        }
    }
    if !created.is_empty() || !failed.is_empty() {
        *text = Value::Object(answer).to_string();
    }
    true
}

fn missing_mark(step: &WorkflowStep, all_steps: &[WorkflowStep], mark: &str, file: &str) -> Fault {
    let name = step.mark_file(mark);
    let hint =
        match all_steps.iter().find(|producer| producer.produces_file(&name) && !producer.intents.is_empty())
        {
            Some(producer) => {
                format!("A successful request with the intent {} creates it.", producer.intents_in_words())
            }
            None => format!("The file {file} must be created outside the workflow when that step is done."),
        };
    let workflow = &step.workflow;
    Fault::denied(format!("workflow '{workflow}' requires the mark '{mark}' ({file}); nothing was run"))
        .hint(hint)
}

#[cfg(test)]
mod tests;
