//! Scripts that a preset exposes as tools. Their text is in the preset, so only reviewed code runs.

use gatehouse_sdk::{Call, Fault, Intent, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Params, engine, file::ScriptFile, run, typescript};

const MAX_EXPOSED: usize = 100;

/// Any object; the host has checked it against the script's schema.
#[derive(Deserialize, JsonSchema)]
struct ExposedArgs(Map<String, Value>);

pub(crate) fn check(params: &Params) -> Result<(), Fault> {
    if params.scripts.len() > MAX_EXPOSED {
        return Err(Fault::invalid(format!("scripts: a preset can expose at most {MAX_EXPOSED} scripts")));
    }
    for (at, text) in params.scripts.iter().enumerate() {
        let file = read(at, text)?;
        let wrong = |reason: String| Fault::invalid(format!("scripts[{at}], '{}': {reason}", file.name));
        if crate::OWN.contains(&file.name.as_str()) {
            return Err(wrong("this gate has a tool with that name".into()));
        }
        if let Err(error) = typescript::CompiledScript::read(&file.code) {
            return Err(wrong(engine::ScriptError::from(error).render(&file.code)));
        }
    }
    Ok(())
}

pub(crate) fn tools(params: &Params) -> Result<Vec<Tool<Params>>, Fault> {
    params.scripts.iter().enumerate().map(|(at, text)| tool(at, text)).collect()
}

fn read(at: usize, text: &str) -> Result<ScriptFile, Fault> {
    ScriptFile::read(text).map_err(|reason| Fault::invalid(format!("scripts[{at}]: {reason}")))
}

fn tool(at: usize, text: &str) -> Result<Tool<Params>, Fault> {
    let ScriptFile { name, description, params, code } = read(at, text)?;
    Ok(gatehouse_sdk::tool::<Params, ExposedArgs>(name)
        .description(move |_| description.clone())
        .schema(move |_, schema| *schema = object(params.clone()))
        .intent(Intent::Execute)
        .effect_from(Params::effect)
        .open_world()
        .runs_code()
        .run(move |call: &Call<Params>, ExposedArgs(given)| {
            Ok(run::run_text(call, &code, Some(&Value::Object(given)), None))
        }))
}

/// Builds an object schema from the parameters. Without any, no members are allowed.
fn object(params: Option<Map<String, Value>>) -> Value {
    let mut schema =
        params.unwrap_or_else(|| Map::from_iter([("additionalProperties".into(), json!(false))]));
    schema.entry("type").or_insert_with(|| json!("object"));
    Value::Object(schema)
}
