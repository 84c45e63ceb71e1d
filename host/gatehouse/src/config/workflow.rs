//! `[presets.NAME.workflow.NAME]`: which requests come after which. One table is one step; `[[…]]` makes several.

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
use toml::Spanned;

use super::{ConfigError, error::ConfigText};

/// A step of a workflow.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawStep {
    /// Calls with these intents are this step: "QUERY", "ANALYZE", "GENERATE", "MODIFY", "EXECUTE". Default: the last two.
    #[schemars(with = "Vec<String>")]
    intents: Vec<Spanned<String>>,
    /// Marks that have to be there: files `.WORKFLOW-MARK` in the project, or the file's own name if it begins with a dot.
    #[schemars(with = "Vec<String>")]
    requires: Vec<Spanned<String>>,
    /// The mark that a call leaves which did what it was asked.
    #[schemars(with = "Option<String>")]
    produces: Option<Spanned<String>>,
    /// Absolute folders in or below which projects may lie. A step that names none has those of the first that does.
    #[schemars(with = "Vec<String>")]
    roots: Vec<Spanned<PathBuf>>,
}

impl Default for RawStep {
    fn default() -> Self {
        let intent = |name: &str| Spanned::new(0..0, name.to_owned());
        Self {
            intents: vec![intent("MODIFY"), intent("EXECUTE")],
            requires: Vec::new(),
            produces: None,
            roots: Vec::new(),
        }
    }
}

/// How steps are typed.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is of use")]
pub(crate) enum WorkflowSchema {
    One(RawStep),
    Many(Vec<RawStep>),
}

/// The steps of one workflow.
#[derive(Debug)]
pub(crate) struct WorkflowSteps(Vec<RawStep>);

impl<'de> Deserialize<'de> for WorkflowSteps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMany;

        impl<'de> Visitor<'de> for OneOrMany {
            type Value = WorkflowSteps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a step, or a list of steps")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WorkflowSteps, A::Error> {
                RawStep::deserialize(MapAccessDeserializer::new(map)).map(|step| WorkflowSteps(vec![step]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<WorkflowSteps, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(WorkflowSteps)
            }
        }

        deserializer.deserialize_any(OneOrMany)
    }
}

/// The steps as they hold.
pub(super) fn checked(
    text: &ConfigText,
    name: &Spanned<String>,
    WorkflowSteps(steps): WorkflowSteps,
) -> Result<Vec<workflow::WorkflowStep>, ConfigError> {
    let named = |what: &str, name: &Spanned<String>| {
        let (fits, dot) = match what {
            "mark" => (is_mark(name.get_ref()), ", or a dot and the rest of a file's name"),
            _ => (is_name(name.get_ref()), ""),
        };
        let why =
            || format!("the name of a {what} is part of a file's: 1 to 64 letters, digits, - and _{dot}");
        if fits { Ok(name.get_ref().clone()) } else { Err(text.error_at(name.span(), why())) }
    };
    let workflow = named("workflow", name)?;
    let roots =
        steps.iter().find(|step| !step.roots.is_empty()).map(|step| &step.roots[..]).unwrap_or_default();
    if roots.is_empty() {
        let why = format!(
            "workflow '{workflow}' has no roots; name the folders in which projects may lie: roots = [\"/home/me/work\"]"
        );
        return Err(text.error_at(name.span(), why));
    }
    let steps_of = |step: &RawStep| {
        let own = if step.roots.is_empty() { roots } else { &step.roots };
        if let Some(root) = own.iter().find(|root| !root.get_ref().is_absolute()) {
            return Err(text.error_at(root.span(), "a root of projects is an absolute path".to_owned()));
        }
        let intent = |word: &Spanned<String>| {
            Intent::from_request(word.get_ref()).ok_or_else(|| {
                let words = Intent::ALL.map(Intent::as_str).join(", ");
                text.error_at(word.span(), format!("an intent is one of {words}"))
            })
        };
        Ok(workflow::WorkflowStep {
            workflow: workflow.clone(),
            intents: step.intents.iter().map(intent).collect::<Result<_, _>>()?,
            requires: step.requires.iter().map(|mark| named("mark", mark)).collect::<Result<_, _>>()?,
            produces: step.produces.as_ref().map(|mark| named("mark", mark)).transpose()?,
            roots: own.iter().map(|root| root.get_ref().clone()).collect(),
        })
    };
    steps.iter().map(steps_of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Env};
    use super::*;

    fn steps(lines: &str) -> Result<Vec<workflow::WorkflowStep>, String> {
        let text = ConfigText {
            file: Some("/p.toml".into()),
            content: format!("[presets.a]\ngates = {{}}\n{lines}"),
        };
        let config = Config::parse(&text, &Env::from_pairs([])).map_err(|error| error.to_string())?;
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
        for (lines, why) in [
            ("[presets.a.workflow.x]\nproduces = \"d\"", "/p.toml:3:21: workflow 'x' has no roots"),
            (
                "[presets.a.workflow.x]\nroots = [\"rel\"]",
                "/p.toml:4:10: a root of projects is an absolute path",
            ),
            (
                "[presets.a.workflow.x]\nroots = [\"/w\"]\nintents = [\"RUN\"]",
                "/p.toml:5:12: an intent is one of QUERY",
            ),
            (
                "[presets.a.workflow.x]\nroots = [\"/w\"]\nproduces = \"../x\"",
                "/p.toml:5:12: the name of a mark is part",
            ),
            ("[presets.a.workflow.\"a/b\"]\nroots = [\"/w\"]", "the name of a workflow is part of a file's"),
            ("[presets.a.workflow.x]\nroots = [\"/w\"]\nproduce = \"x\"", "unknown"),
            ("[presets.a.workflow]\nx = 5", "/p.toml:4:"),
        ] {
            let told = steps(lines).expect_err(lines);
            assert!(told.contains(why), "{told}");
        }
    }
}
