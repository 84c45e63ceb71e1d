//! `[presets.NAME.workflow.NAME]`: the order of requests. One table is one step; `[[…]]` declares several.

use std::{fmt, path::PathBuf};

use gatehouse_core::{
    Intent,
    workflow::{self, is_mark, is_name},
};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer, value::SeqAccessDeserializer},
};

use super::{ConfigError, ConfigText, TextValue};

/// A step of a workflow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Step {
    /// Intents of the calls in this step: "QUERY", "ANALYZE", "GENERATE", "MODIFY", "EXECUTE". Default: the last two.
    intents: Vec<TextValue<String>>,
    /// Required marks: files `.WORKFLOW-MARK` in the project, or the file's own name if it begins with a dot.
    requires: Vec<TextValue<String>>,
    /// The mark that a successful call leaves.
    produces: Option<TextValue<String>>,
    /// Absolute directories that may contain projects. A step without roots uses those of the first step with some.
    roots: Vec<TextValue<PathBuf>>,
}

impl Default for Step {
    fn default() -> Self {
        let intent = |name: &str| TextValue::default_value(name.to_owned());
        Self {
            intents: vec![intent("MODIFY"), intent("EXECUTE")],
            requires: Vec::new(),
            produces: None,
            roots: Vec::new(),
        }
    }
}

/// One step or a list.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) enum WorkflowSchema {
    One(Step),
    Many(Vec<Step>),
}

#[derive(Debug)]
pub(crate) struct WorkflowSteps(Vec<Step>);

impl<'de> Deserialize<'de> for WorkflowSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = WorkflowSteps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a step, or a list of steps")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WorkflowSteps, A::Error> {
                Step::deserialize(MapAccessDeserializer::new(map)).map(|step| WorkflowSteps(vec![step]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<WorkflowSteps, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(WorkflowSteps)
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

/// Validates the steps of one workflow.
pub(super) fn validate(
    text: &ConfigText,
    name: &TextValue<String>,
    WorkflowSteps(steps): WorkflowSteps,
) -> Result<Vec<workflow::WorkflowStep>, ConfigError> {
    let named = |kind: &str, name: &TextValue<String>| {
        let (fits, dot) = match kind {
            "mark" => (is_mark(name), ", or a file name that starts with a dot"),
            _ => (is_name(name), ""),
        };
        if !fits {
            bail_at!(text, name, "invalid {kind} name: use 1 to 64 letters, digits, - and _{dot}");
        }
        Ok(name.to_string())
    };
    let workflow = named("workflow", name)?;
    let roots =
        steps.iter().find(|step| !step.roots.is_empty()).map(|step| &step.roots[..]).unwrap_or_default();
    if roots.is_empty() {
        bail_at!(
            text,
            name,
            "workflow '{workflow}' has no roots; list the directories that may contain projects: roots = \
            [\"/home/me/work\"]"
        );
    }
    let steps_of = |step: &Step| {
        let step_roots = if step.roots.is_empty() { roots } else { &step.roots };
        if let Some(root) = step_roots.iter().find(|root| !root.is_absolute()) {
            bail_at!(text, root, "a project root must be an absolute path");
        }
        let intent = |word: &TextValue<String>| {
            let words = || format!("intent must be one of {}", Intent::ALL.map(Intent::as_str).join(", "));
            text.at(word, Intent::from_request(word).ok_or_else(words))
        };
        Ok(workflow::WorkflowStep {
            workflow: workflow.clone(),
            intents: step.intents.iter().map(intent).collect::<Result<_, _>>()?,
            requires: step.requires.iter().map(|mark| named("mark", mark)).collect::<Result<_, _>>()?,
            produces: step.produces.as_ref().map(|mark| named("mark", mark)).transpose()?,
            roots: step_roots.iter().map(|root| root.to_path_buf()).collect(),
        })
    };
    steps.iter().map(steps_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{
        Env, PlainError,
        tests::{assert_refused, parse},
    };

    fn steps(lines: &str) -> Result<Vec<workflow::WorkflowStep>, PlainError> {
        let config = parse(&format!("[presets.a]\ngates = {{}}\n{lines}"), &Env::default())?;
        Ok(config.presets["a"].workflow.clone())
    }

    #[test]
    fn a_workflow_is_one_step_or_several() {
        let one = "[presets.a.workflow.refactor]\nrequires = [\"analysis-done\"]\nproduces = \"done\"\nroots = [\"/w\"]\n";
        let step = workflow::WorkflowStep {
            workflow: "refactor".into(),
            intents: vec![Intent::Modify, Intent::Execute],
            requires: vec!["analysis-done".into()],
            produces: Some("done".into()),
            roots: vec!["/w".into()],
        };
        assert_eq!(steps(one), Ok(vec![step.clone()]));
        let many = "[[presets.a.workflow.refactor]]\nintents = [\"ANALYZE\"]\nproduces = \"analysis-done\"\nroots = [\"/w\"]\n\
            [[presets.a.workflow.refactor]]\nrequires = [\"analysis-done\"]\nproduces = \"done\"\n";
        let steps = steps(many).expect("steps");
        assert_eq!((steps.len(), &steps[1]), (2, &step), "roots are those of the first");
    }

    #[test]
    fn mistakes_have_their_place() {
        let cases = [
            ("[presets.a.workflow.x]\nproduces = \"d\"", "presets.toml:3:21: workflow 'x' has no roots"),
            (
                "[presets.a.workflow.x]\nroots = [\"rel\"]",
                "presets.toml:4:10: a project root must be an absolute path",
            ),
            (
                "[presets.a.workflow.x]\nroots = [\"/w\"]\nintents = [\"RUN\"]",
                "presets.toml:5:12: intent must be one of QUERY",
            ),
            (
                "[presets.a.workflow.x]\nroots = [\"/w\"]\nproduces = \"../x\"",
                "presets.toml:5:12: invalid mark name",
            ),
            ("[presets.a.workflow.\"a/b\"]\nroots = [\"/w\"]", "invalid workflow name"),
            ("[presets.a.workflow.x]\nroots = [\"/w\"]\nproduce = \"x\"", "unknown"),
            ("[presets.a.workflow]\nx = 5", "presets.toml:4:"),
        ];
        assert_refused("[presets.a]\ngates = {}\n", &cases);
    }
}
