//! Marks in memory, and requests that need and leave them.

use std::{collections::BTreeSet, path::Path, sync::Mutex};

use super::*;
use crate::{
    CallContext, Pipeline, SourceId, lock,
    testing::{Fixture, context, tool},
};

/// The files that there are; what begins with `/p` is allowed.
#[derive(Default)]
struct Memory(Mutex<BTreeSet<String>>, bool);

#[async_trait]
impl Marks for Memory {
    async fn project(&self, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault> {
        let root = PathBuf::from(root);
        if allowed.iter().any(|one| root.starts_with(one)) { Ok(root) } else { Err(Fault::denied("outside")) }
    }

    async fn is_there(&self, project: &Path, file: &str) -> Result<bool, Fault> {
        Ok(lock(&self.0).contains(&project.join(file).display().to_string()))
    }

    async fn make(&self, project: &Path, file: &str) -> Result<(), Fault> {
        if self.1 {
            return Err(Fault::unavailable("The disk is full."));
        }
        lock(&self.0).insert(project.join(file).display().to_string());
        Ok(())
    }
}

fn step(intent: &str, requires: &[&str], produces: &str) -> Step {
    Step {
        workflow: "refactor".into(),
        intents: vec![intent.into()],
        requires: requires.iter().map(|mark| (*mark).to_owned()).collect(),
        produces: Some(produces.into()),
        roots: vec!["/p".into()],
    }
}

/// A request through the stage; the tool answers with `answer`.
async fn requested(marks: &Arc<Memory>, gate: &str, name: &str, request: Value) -> Outcome {
    let source = Fixture::new(SourceId::Gate(gate.into()), vec![tool(name, None)]);
    let mut context: CallContext = context(Vec::new(), &source, name).await;
    let catalog = Arc::get_mut(&mut context.catalog).expect("nobody else has it");
    catalog.workflow = vec![
        step("ANALYZE", &[], "analysis-done"),
        step("MODIFY", &["analysis-done", "plan-approved"], "done"),
    ];
    context.pipeline = Arc::new(Pipeline::new(vec![Arc::new(Workflow::new(Arc::clone(marks) as _))]));
    Call::new(context, request).run().await
}

fn request(intent: &str, root: &str) -> Value {
    json!({"intent": intent, "action": "x", "context": {"project_root": root}})
}

fn told(outcome: &Outcome) -> Value {
    let reply = outcome.as_ref().expect("a reply");
    let Content::Text(text) = &reply.content[0] else { panic!("no text") };
    serde_json::from_str(text).unwrap_or_else(|_| json!({"text": text, "failed": reply.is_error}))
}

#[tokio::test]
async fn a_step_waits_for_those_before_it_and_leaves_its_own_mark() {
    let marks = Arc::new(Memory::default());
    let refused = told(&requested(&marks, "proxy", "request", request("MODIFY", "/p/a")).await);
    assert_eq!(refused["error"]["type"], "PERMISSION", "{refused}");
    let message = refused["error"]["message"].as_str().expect("text");
    assert!(message.contains("lacks the mark 'analysis-done' (/p/a/.refactor-analysis-done)"), "{message}");
    assert!(refused["error"]["suggestion"].to_string().contains("intent ANALYZE"), "{refused}");

    assert!(requested(&marks, "proxy", "request", request("ANALYZE", "/p/a")).await.is_ok());
    assert!(lock(&marks.0).contains("/p/a/.refactor-analysis-done"));
    let refused = told(&requested(&marks, "proxy", "request", request("MODIFY", "/p/a")).await);
    assert!(
        refused["error"]["suggestion"].to_string().contains("makes the file /p/a/.refactor-plan-approved"),
        "{refused}"
    );
    lock(&marks.0).insert("/p/a/.refactor-plan-approved".into());
    assert!(requested(&marks, "proxy", "request", request("MODIFY", "/p/a")).await.is_ok());
    assert!(lock(&marks.0).contains("/p/a/.refactor-done"));
    // Another project has marks of its own, and other intents none.
    assert!(
        told(&requested(&marks, "proxy", "request", request("MODIFY", "/p/b")).await)["error"].is_object()
    );
    assert!(requested(&marks, "proxy", "request", json!({"intent": "QUERY", "action": "x"})).await.is_ok());
}

#[tokio::test]
async fn what_is_no_request_and_what_did_nothing_leaves_no_mark() {
    let marks = Arc::new(Memory::default());
    assert!(
        requested(&marks, "other", "request", request("MODIFY", "/p")).await.is_ok(),
        "another gate's tool"
    );
    let mut rehearsal = request("ANALYZE", "/p");
    rehearsal["constraints"] = json!({"dry_run": true});
    assert!(requested(&marks, "proxy", "request", rehearsal).await.is_ok());
    for root in ["", "/elsewhere"] {
        let refused = told(&requested(&marks, "proxy", "request", request("ANALYZE", root)).await);
        assert_eq!(refused["ok"], false, "{refused}");
    }
    assert!(lock(&marks.0).is_empty(), "{:?}", marks.0);
}

#[tokio::test]
async fn a_mark_that_cannot_be_left_is_told_beside_the_result() {
    let marks = Arc::new(Memory(Mutex::default(), true));
    let reply = requested(&marks, "proxy", "request", request("ANALYZE", "/p")).await.expect("a reply");
    let Some(Content::Text(last)) = reply.content.last() else { panic!("no text") };
    assert!(last.contains(".refactor-analysis-done was not left") && last.contains("disk is full"), "{last}");
    assert!(reply.content.len() > 1, "the result is still there");
}
