//! Scripts that a preset exposes as tools of their own: it has their text, so what is called is what somebody has looked at.

use gatehouse_sdk::{Call, Fault, Intent, Reply, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Params, engine, file::ScriptFile, run, typescript};

/// The most scripts that one preset exposes.
const MAX_EXPOSED: usize = 100;

/// Whatever its schema says; the host has checked that.
#[derive(Deserialize, JsonSchema)]
struct ExposedArgs(Map<String, Value>);

/// Whether scripts of the parameters can be tools.
pub(crate) fn check(params: &Params) -> Result<(), Fault> {
    if params.scripts.len() > MAX_EXPOSED {
        return Err(Fault::invalid(format!("scripts: a preset exposes {MAX_EXPOSED} scripts at most")));
    }
    for (at, text) in params.scripts.iter().enumerate() {
        let file = read(at, text)?;
        let wrong = |why: String| Fault::invalid(format!("scripts[{at}], '{}': {why}", file.name));
        if crate::OWN.contains(&file.name.as_str()) {
            return Err(wrong("this gate has a tool of that name".into()));
        }
        if let Err(mistake) = typescript::CompiledScript::read(&file.code) {
            return Err(wrong(engine::ScriptError::from(mistake).render(&file.code)));
        }
    }
    Ok(())
}

/// A tool for each script of the parameters.
pub(crate) fn tools(params: &Params) -> Result<Vec<Tool<Params>>, Fault> {
    params.scripts.iter().enumerate().map(|(at, text)| tool(at, text)).collect()
}

fn read(at: usize, text: &str) -> Result<ScriptFile, Fault> {
    ScriptFile::read(text).map_err(|why| Fault::invalid(format!("scripts[{at}]: {why}")))
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
        .run(move |call: &Call<Params>, ExposedArgs(given)| run_exposed(call, &code, given)))
}

fn run_exposed(call: &Call<Params>, code: &str, given: Map<String, Value>) -> Result<Reply, Fault> {
    Ok(run::run_text(call, code, Some(&Value::Object(given)), None))
}

/// The schema of an object, whether or not it says so.
fn object(params: Option<Map<String, Value>>) -> Value {
    let mut schema =
        params.unwrap_or_else(|| Map::from_iter([("additionalProperties".into(), json!(false))]));
    schema.entry("type").or_insert_with(|| json!("object"));
    Value::Object(schema)
}
