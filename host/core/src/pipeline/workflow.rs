//! Lets a request through when the steps before it are done, and leaves the mark of its own: see [`crate::workflow`]. It stands
//! before *approve*, so nobody is asked about what may not run yet, and after *validate*.

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{Next, Stage};
use crate::{
    call::Call,
    envelope,
    outcome::{Content, Fault, Outcome, Reply},
    ports::Marks,
    workflow::{Step, takes_requests},
};

/// See the module.
pub struct Workflow {
    marks: Arc<dyn Marks>,
}

impl Workflow {
    /// `marks` is where they are looked for and left.
    pub fn new(marks: Arc<dyn Marks>) -> Self {
        Self { marks }
    }

    /// The project, where every mark is there that these steps require.
    async fn begun(&self, steps: &[&Step], all: &[Step], request: &Value) -> Result<PathBuf, Fault> {
        let root = request["context"]["project_root"].as_str().filter(|root| !root.is_empty());
        let mut project = PathBuf::new();
        for step in steps {
            let workflow = &step.workflow;
            let root = root.ok_or_else(|| {
                Fault::invalid(format!("The workflow '{workflow}' has to know the project."))
                    .hint("Name its folder as context.project_root.")
            })?;
            project = self.marks.project(root, &step.roots).await?;
            for mark in &step.requires {
                let file = step.file(mark);
                if !self.marks.is_there(&project, &file).await? {
                    return Err(missing(step, all, mark, &project.join(file).display().to_string()));
                }
            }
        }
        Ok(project)
    }

    /// Leaves the marks of these steps, and says which; what could not be left is told as well.
    async fn leave(&self, steps: &[&Step], project: &std::path::Path, reply: &mut Reply) {
        let mut left = Vec::new();
        for step in steps {
            let Some(file) = step.produces.as_ref().map(|mark| step.file(mark)) else { continue };
            match self.marks.make(project, &file).await {
                Ok(()) => left.push(file),
                Err(fault) => reply
                    .content
                    .push(Content::Text(format!("The mark {file} was not left: {}", fault.in_one_line()))),
            }
        }
        if left.is_empty() {
            return;
        }
        // The answer is one JSON object, unless it was told in short.
        if let Some(Content::Text(text)) = reply.content.first_mut()
            && let Ok(Value::Object(mut answer)) = serde_json::from_str::<Value>(text)
            && let Some(meta) = answer.get_mut("meta").and_then(Value::as_object_mut)
        {
            meta.insert("marks".into(), json!(left));
            *text = Value::Object(answer).to_string();
        }
    }
}

#[async_trait]
impl Stage for Workflow {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let all = &context.catalog.workflow;
        if all.is_empty() || !takes_requests(&context.entry()?.id) {
            return next.run(call).await;
        }
        let request = call.arguments.clone();
        let intent = request["intent"].as_str().unwrap_or_default();
        let is_step = |step: &&Step| step.intents.iter().any(|own| own == intent);
        let steps: Vec<&Step> = all.iter().filter(is_step).collect();
        let project = match self.begun(&steps, all, &request).await {
            Ok(project) => project,
            Err(fault) => {
                let text = envelope::refused(&fault, &request).to_string();
                return Ok(Reply { content: vec![Content::Text(text)], is_error: true, ..Reply::default() });
            }
        };
        let mut reply = next.run(call).await?;
        // A rehearsal did nothing.
        if !reply.is_error && request["constraints"]["dry_run"] != true {
            self.leave(&steps, &project, &mut reply).await;
        }
        Ok(reply)
    }
}

fn missing(step: &Step, all: &[Step], mark: &str, file: &str) -> Fault {
    let producing = all.iter().find(|one| {
        one.workflow == step.workflow && one.produces.as_deref() == Some(mark) && !one.intents.is_empty()
    });
    let how = match producing {
        Some(one) => {
            format!("A request with the intent {} that succeeds leaves it.", one.intents.join(" or "))
        }
        None => format!("Whoever does that step makes the file {file}."),
    };
    let workflow = &step.workflow;
    Fault::denied(format!("The workflow '{workflow}' lacks the mark '{mark}' ({file}); nothing was run."))
        .hint(how)
}

#[cfg(test)]
mod tests;
