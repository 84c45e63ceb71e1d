//! Tests of steps and of rejected workflows.

use super::*;
use crate::{
    Catalog, CompiledPreset, Effect, SourceId,
    testing::{Fixture, request_tool, tool, with_effect},
};

fn step(intents: &[Intent], requires: &[&str], produces: &str) -> WorkflowStep {
    WorkflowStep {
        workflow: "w".into(),
        intents: intents.to_vec(),
        requires: requires.iter().map(|mark| (*mark).to_owned()).collect(),
        produces: Some(produces.into()),
        roots: vec!["/p".into()],
    }
}

/// Builds a catalog of these tools with a workflow.
async fn built(tools: Vec<ToolSpec>, steps: Vec<WorkflowStep>) -> Result<Catalog, String> {
    let source = Fixture::new(SourceId::Gate("g".into()), tools);
    let mut preset = CompiledPreset::from_sources("p", Vec::new());
    preset.workflow = steps;
    Catalog::build(&preset, vec![source.listed().await]).map_err(|error| error.to_string())
}

#[test]
fn a_mark_is_a_name_or_a_file_that_begins_with_a_dot() {
    for good in ["analysis-done", ".analysis-done", ".v1.2_x"] {
        assert!(is_mark(good), "{good}");
    }
    for bad in ["", ".", "..", "../x", ".a/b", "a.b", ".-x", "a b", &".x".repeat(40)] {
        assert!(!is_mark(bad), "{bad}");
    }
    let step = step(&[], &[], "done");
    assert_eq!((step.mark_file("done"), step.mark_file(".done")), (".w-done".into(), ".done".into()));
}

#[test]
fn execute_uses_the_step_of_modify_without_its_own() {
    let analyze = step(&[Intent::Analyze], &[], "analyzed");
    let modify = step(&[Intent::Modify], &["analyzed"], "done");
    let steps = [analyze.clone(), modify.clone()];
    assert_eq!(steps_for(&steps, Intent::Analyze), [&analyze]);
    assert_eq!(steps_for(&steps, Intent::Modify), [&modify]);
    assert_eq!(steps_for(&steps, Intent::Execute), [&modify], "to say EXECUTE leads around nothing");
    assert!(steps_for(&steps, Intent::Query).is_empty());
    let execute = step(&[Intent::Execute], &["done"], "ran");
    let other = WorkflowStep { workflow: "other".into(), ..modify };
    let steps = [analyze, execute.clone(), other.clone()];
    assert_eq!(steps_for(&steps, Intent::Execute), [&other, &execute], "each workflow by itself");
}

#[tokio::test]
async fn unsatisfiable_workflow_is_refused() {
    let both =
        || vec![step(&[Intent::Analyze], &[], "analyzed"), step(&[Intent::Modify], &["analyzed"], "done")];
    let edit = || with_effect("edit", Effect::Mutating);
    let refused = built(vec![edit()], both()).await.err().expect("refused");
    assert!(refused.contains("no tool can take the step ANALYZE of workflow 'w'"), "{refused}");
    let analyze = ToolSpec { intent: Intent::Analyze, ..tool("study", None) };
    assert!(built(vec![edit(), analyze.clone()], both()).await.is_ok());
    let refused = built(vec![analyze], both()).await.err().expect("refused");
    assert!(refused.contains("no tool can take the step MODIFY"), "{refused}");
    let run = with_effect("run", Effect::ExternalExec);
    assert!(built(vec![run], vec![step(&[Intent::Modify], &[], "done")]).await.is_ok(), "it has that step");

    let request = request_tool("request");
    assert!(built(vec![request.clone()], both()).await.is_ok(), "a request has any intent");
    let word = ToolSpec { meta: None, ..request };
    assert!(built(vec![word], both()).await.is_err(), "a tool is not one of requests by its name");
}

#[tokio::test]
async fn steps_that_wait_for_each_other_are_refused() {
    let tools = || vec![with_effect("edit", Effect::Mutating), with_effect("run", Effect::ExternalExec)];
    let circle = vec![step(&[Intent::Modify], &["b"], "a"), step(&[Intent::Execute], &[".w-a"], "b")];
    let refused = built(tools(), circle).await.err().expect("refused");
    assert!(
        refused.contains("waits for the mark .w-b, but only steps that wait for this step leave it"),
        "{refused}"
    );
    let chain = vec![step(&[Intent::Execute], &["a"], "b"), step(&[Intent::Modify], &["plan"], "a")];
    assert!(built(tools(), chain).await.is_ok(), "the plan is made outside");
    let own = vec![step(&[Intent::Modify], &["a"], "a")];
    assert!(built(tools(), own).await.is_err());
}
