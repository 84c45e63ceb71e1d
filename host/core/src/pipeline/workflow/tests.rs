//! Tests with marks in memory.

use std::{collections::BTreeSet, path::Path, sync::Mutex};

use super::*;
use crate::{
    Effect, Pipeline, SourceId, lock,
    pipeline::AdmitStage,
    testing::{FakeClient, Fixture, context, request_tool, tool, with_effect},
    tool::ToolSpec,
};

/// Existing mark files. Projects must be under an allowed root.
#[derive(Default)]
struct Memory(Mutex<BTreeSet<String>>, bool);

#[async_trait]
impl WorkflowMarks for Memory {
    async fn project(&self, origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault> {
        let root = PathBuf::from(root);
        if allowed.iter().any(|one| root.starts_with(one)) {
            Ok(root)
        } else {
            Err(Fault::denied(format!("{origin} is outside")))
        }
    }

    async fn exists(&self, project: &Path, file: &str) -> Result<bool, Fault> {
        Ok(lock(&self.0).contains(&project.join(file).display().to_string()))
    }

    async fn create(&self, project: &Path, file: &str) -> Result<(), Fault> {
        if self.1 {
            return Err(Fault::unavailable("The disk is full."));
        }
        lock(&self.0).insert(project.join(file).display().to_string());
        Ok(())
    }
}

impl Memory {
    fn all(&self) -> Vec<String> {
        lock(&self.0).iter().cloned().collect()
    }
}

fn step(intent: Intent, requires: &[&str], produces: &str) -> WorkflowStep {
    WorkflowStep {
        workflow: "refactor".into(),
        intents: vec![intent],
        requires: requires.iter().map(|mark| (*mark).to_owned()).collect(),
        produces: Some(produces.into()),
        roots: vec!["/p".into()],
    }
}

/// Runs a call through the stage. `ask` takes requests, `pass` forwards calls.
async fn called_with(
    marks: &Arc<Memory>,
    name: &str,
    arguments: Value,
    with: impl FnOnce(&mut CallContext),
) -> Outcome {
    let edit = ToolSpec { dry_run: Some("try".into()), ..with_effect("edit", Effect::Mutating) };
    let mut pass = request_tool("pass");
    Arc::make_mut(&mut pass.input_schema).remove("properties");
    let tools =
        vec![request_tool("ask"), pass, tool("look", None), edit, with_effect("run", Effect::ExternalExec)];
    let source = Fixture::new(SourceId::Gate("mine".into()), tools);
    let mut context: CallContext = context(Vec::new(), &source, name).await;
    let catalog = Arc::get_mut(&mut context.catalog).expect("the only one");
    catalog.workflow = vec![
        step(Intent::Analyze, &[], "analysis-done"),
        step(Intent::Modify, &["analysis-done", ".plan-approved"], "done"),
    ];
    with(&mut context);
    let stages: Vec<Arc<dyn Stage>> =
        vec![Arc::new(AdmitStage), Arc::new(WorkflowStage::new(Arc::clone(marks) as _))];
    context.pipeline = Arc::new(Pipeline::new(stages));
    Call::new(context, arguments).run().await
}

async fn called(marks: &Arc<Memory>, name: &str, arguments: Value) -> Outcome {
    called_with(marks, name, arguments, |context| context.working_directory = Some("/p/a".into())).await
}

fn request(intent: &str, root: &str) -> Value {
    json!({"intent": intent, "action": "x", "context": {"project_root": root}})
}

fn refused(outcome: Outcome) -> Fault {
    outcome.expect_err("refused")
}

#[tokio::test]
async fn a_step_waits_for_those_before_it_and_leaves_its_own_mark() {
    let marks = Arc::new(Memory::default());
    let fault = refused(called(&marks, "ask", request("MODIFY", "/p/b")).await);
    assert!(
        fault.message.contains("requires the mark 'analysis-done' (/p/b/.refactor-analysis-done)"),
        "{fault}"
    );
    assert!(fault.hint.is_some_and(|next| next.contains("intent ANALYZE")));
    assert!(called(&marks, "ask", request("ANALYZE", "/p/b")).await.is_ok());
    assert_eq!(marks.all(), ["/p/b/.refactor-analysis-done"]);
    let fault = refused(called(&marks, "ask", request("MODIFY", "/p/b")).await);
    assert!(fault.hint.is_some_and(|next| next.contains("The file /p/b/.plan-approved must be created")));
    lock(&marks.0).insert("/p/b/.plan-approved".into());
    assert!(called(&marks, "ask", request("MODIFY", "/p/b")).await.is_ok());
    assert!(lock(&marks.0).contains("/p/b/.refactor-done"));
    // Other projects have their own marks, and other intents need none.
    assert!(called(&marks, "ask", request("MODIFY", "/p/c")).await.is_err());
    assert!(called(&marks, "ask", json!({"intent": "QUERY", "action": "x"})).await.is_ok());
}

#[tokio::test]
async fn weaker_intent_cannot_bypass_a_step() {
    let marks = Arc::new(Memory::default());
    for effect in ["MUTATING", "EXTERNAL_EXEC"] {
        let sent = json!({"intent": "QUERY", "effect": effect, "action": "x"});
        assert!(called(&marks, "ask", sent).await.is_err(), "{effect}");
    }
    let sent = json!({"intent": "EXECUTE", "action": "x"});
    assert!(called(&marks, "ask", sent).await.is_err(), "what runs things has the step of changes");
    for (tool, arguments) in [
        ("edit", json!({})),
        ("run", json!({})),
        ("pass", json!({"nested": "edit", "with": {}})),
        ("pass", json!({"nested": "pass", "with": {"nested": "run", "with": {}}})),
        // The stage does not trust the gate to respect the request's intent.
        ("ask", json!({"intent": "QUERY", "nested": "edit", "with": {}})),
        ("ask", json!({"nested": "edit", "with": {}})),
    ] {
        assert!(called(&marks, tool, arguments.clone()).await.is_err(), "{tool} {arguments}");
    }
    assert!(called(&marks, "look", json!({})).await.is_ok());
    assert!(
        called(&marks, "pass", json!({"nested": "look", "with": {}})).await.is_ok(),
        "what it calls counts"
    );
    assert!(marks.all().is_empty(), "{:?}", marks.all());
}

#[tokio::test]
async fn every_way_to_a_tool_leaves_its_mark_once() {
    let marks = Arc::new(Memory::default());
    lock(&marks.0).extend(["/p/a/.refactor-analysis-done".into(), "/p/a/.plan-approved".to_owned()]);
    for (tool, arguments) in [
        ("edit", json!({})),
        ("pass", json!({"nested": "edit", "with": {}})),
        ("ask", json!({"intent": "MODIFY", "nested": "edit", "with": {}})),
        ("ask", json!({"intent": "EXECUTE", "nested": "pass", "with": {"nested": "edit", "with": {}}})),
    ] {
        assert!(called(&marks, tool, arguments.clone()).await.is_ok(), "{tool} {arguments}");
        assert!(lock(&marks.0).remove("/p/a/.refactor-done"), "{tool} {arguments}");
    }
    for (tool, arguments) in [
        ("edit", json!({"try": true})),
        ("edit", json!({"is_error": true})),
        ("ask", json!({"intent": "MODIFY", "nested": "edit", "with": {"is_error": true}})),
        ("ask", json!({"intent": "MODIFY", "constraints": {"dry_run": true}, "nested": "edit", "with": {}})),
    ] {
        assert!(called(&marks, tool, arguments.clone()).await.is_ok(), "{tool} {arguments}");
    }
    assert_eq!(marks.all().len(), 2, "what did nothing leaves no mark: {:?}", marks.all());
}

#[tokio::test]
async fn request_limits_its_nested_calls() {
    let marks = Arc::new(Memory::default());
    lock(&marks.0).extend(["/p/a/.refactor-analysis-done".into(), "/p/a/.plan-approved".to_owned()]);
    let sent = json!({"intent": "MODIFY", "effect": "READ_ONLY", "nested": "edit", "with": {}});
    let fault = refused(called(&marks, "ask", sent).await);
    assert!(fault.message.contains("cannot call 'edit'"), "{fault}");
    let sent = json!({"intent": "MODIFY", "nested": "pass", "with": {"nested": "run", "with": {}}});
    assert!(called(&marks, "ask", sent).await.is_err(), "through a tool that forwards, too");
}

#[tokio::test]
async fn project_comes_from_request_preset_root_or_directory() {
    let analyze = || json!({"intent": "ANALYZE", "action": "x"});
    let left = |arguments: Value,
                project: Option<&'static str>,
                roots: Vec<&'static str>,
                directory: Option<&'static str>| async move {
        let marks = Arc::new(Memory::default());
        let outcome = called_with(&marks, "ask", arguments, |context| {
            Arc::get_mut(&mut context.catalog).expect("the only one").project = project.map(Into::into);
            let mut client = FakeClient::new(|_| Err(Fault::denied("no")));
            client.profile.features.roots = true;
            client.roots = roots.into_iter().map(str::to_owned).collect();
            context.client = Arc::new(client);
            context.working_directory = directory.map(Into::into);
        });
        outcome.await.map(|_| marks.all().concat().replace("/.refactor-analysis-done", ""))
    };
    let (preset, root) = (Some("/p/preset"), "file:///p/root%20x");
    assert_eq!(
        left(request("ANALYZE", "/p/own"), preset, vec![root], Some("/p/wd")).await,
        Ok("/p/own".into())
    );
    assert_eq!(left(analyze(), preset, vec![root], Some("/p/wd")).await, Ok("/p/preset".into()));
    assert_eq!(left(analyze(), None, vec![root], Some("/p/wd")).await, Ok("/p/root x".into()));
    assert_eq!(left(analyze(), None, vec![root, "file:///p/b"], Some("/p/wd")).await, Ok("/p/wd".into()));
    assert_eq!(left(analyze(), None, vec!["https://a.example"], Some("/p/wd")).await, Ok("/p/wd".into()));
    // A named project must be allowed. The working directory is ignored if it is not.
    let outside = left(request("ANALYZE", "/else"), preset, vec![root], Some("/p/wd")).await;
    assert_eq!(outside.expect_err("refused").message, "context.project_root is outside");
    let outside = left(analyze(), None, vec!["file:///else"], Some("/p/wd")).await;
    assert_eq!(outside.expect_err("refused").message, "the client's root is outside");
    for directory in [Some("/else"), None] {
        let none = left(analyze(), None, vec![], directory).await.expect_err("refused");
        assert!(none.message.contains("requires a project directory"), "{none}");
        assert!(none.hint.is_some_and(|next| next.contains("project = \"DIR\" under [presets.p]")));
    }
}

#[tokio::test]
async fn an_answer_names_its_marks_and_a_failure_to_leave_one_loses_nothing() {
    let mut reply = Reply {
        content: vec![ContentPart::Text(json!({"ok": true, "meta": {"duration_ms": 1}}).to_string())],
        ..Reply::default()
    };
    assert!(add_marks_to_meta(
        &mut reply,
        &[".w-done".into()],
        &["cannot create the mark .w-x: full".into()]
    ));
    let [ContentPart::Text(text)] = &reply.content[..] else { panic!("{reply:?}") };
    let answer: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(answer["meta"]["marks"], json!([".w-done"]), "{answer}");
    assert_eq!(answer["meta"]["marks_failed"], json!(["cannot create the mark .w-x: full"]), "{answer}");

    let full = Arc::new(Memory(
        Mutex::new(["/p/a/.refactor-analysis-done".into(), "/p/a/.plan-approved".into()].into()),
        true,
    ));
    let reply = called(&full, "edit", json!({})).await.expect("a reply");
    let Some(ContentPart::Text(last)) = reply.content.last() else { panic!("no text") };
    assert!(
        last.contains("cannot create the mark .refactor-done") && last.contains("disk is full"),
        "{last}"
    );
    assert_eq!(reply.content.len(), 2, "the result is still there");
}
