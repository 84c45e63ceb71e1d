//! Tool declarations: a tool's name, description, schemas and handler.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Fault, Reply, bindings::gatehouse::gate::types, params::Params, schema};
use types::Icon;
pub use types::{Effect, Intent};

/// A call without its typed arguments.
#[derive(Debug, Clone)]
pub struct Call<P> {
    /// Unique; also in the host's log.
    pub id: String,
    /// Preset parameters with defaults.
    pub params: P,
    /// Identity of the caller, if known.
    pub caller: Option<String>,
    /// Preset of the call.
    pub preset: String,
    /// Time limit from the start of the call.
    pub deadline_ms: u64,
    /// `_meta` of the client's request as a JSON object, without keys that concern only the client and the host.
    pub meta: Option<String>,
}

/// Key in `_meta` that marks a tool that only calls others. Clients do not see it.
const FORWARDS: &str = "gatehouse/forwards";

/// `_meta` key of tools that run only as tasks.
const TASK: &str = "gatehouse/task";

type DescribeFn<P> = Box<dyn Fn(&P) -> String>;
type ShapeFn<P> = Box<dyn Fn(&P, &mut Value)>;
type MetaFn<P> = Box<dyn Fn(&P) -> Option<Value>>;
type OfferedFn<P> = Box<dyn Fn(&P) -> bool>;
type EffectFn<P> = Box<dyn Fn(&P) -> Effect>;
type RunFn<P> = Box<dyn Fn(&Call<P>, &str) -> Result<Reply, Fault>>;

/// A complete tool.
pub struct Tool<P> {
    row: ToolRow<P>,
    run: RunFn<P>,
}

struct ToolRow<P> {
    /// The declaration without the parts that depend on parameters.
    declared: types::Tool,
    description: Option<DescribeFn<P>>,
    input: fn() -> Value,
    shapes: Vec<ShapeFn<P>>,
    output: Option<fn() -> Value>,
    effect_from: Option<EffectFn<P>>,
    forwards: Option<Value>,
    task_only: bool,
    meta: Option<MetaFn<P>>,
    offered: Option<OfferedFn<P>>,
}

/// Declares a tool; [`ToolBuilder::run`] completes it.
#[must_use]
pub struct ToolBuilder<P, A> {
    row: ToolRow<P>,
    args: PhantomData<fn(A)>,
}

/// Declares a tool with parameters `P` and arguments `A`. By default it is a read-only query of data that the host
/// stores.
pub fn tool<P: Params, A: DeserializeOwned + JsonSchema + 'static>(
    name: impl Into<String>,
) -> ToolBuilder<P, A> {
    let row = ToolRow {
        declared: read_only(name),
        description: None,
        input: schema::for_arguments::<A>,
        shapes: Vec::new(),
        output: None,
        effect_from: None,
        forwards: None,
        task_only: false,
        meta: None,
        offered: None,
    };
    ToolBuilder { row, args: PhantomData }
}

/// Returns the declaration of a read-only query without texts and schemas.
pub(crate) fn read_only(name: impl Into<String>) -> types::Tool {
    types::Tool {
        name: name.into(),
        title: None,
        description: String::new(),
        input_schema: String::new(),
        output_schema: None,
        intent: Intent::Query,
        effect: Effect::ReadOnly,
        idempotent: false,
        open_world: false,
        dry_run: None,
        additive: false,
        meta: None,
        icons: Vec::new(),
    }
}

impl<P: Params, A: DeserializeOwned + JsonSchema + 'static> ToolBuilder<P, A> {
    /// Sets the display name.
    pub fn title(mut self, title: &'static str) -> Self {
        self.row.declared.title = Some(title.into());
        self
    }

    /// Sets the description: when to use the tool, its result, and which tool to try next.
    pub fn description<S: Into<String>>(mut self, describe: impl Fn(&P) -> S + 'static) -> Self {
        self.row.description = Some(Box::new(move |p| describe(p).into()));
        self
    }

    /// Sets the purpose, which determines timeouts and retries.
    pub fn intent(mut self, intent: Intent) -> Self {
        self.row.declared.intent = intent;
        self
    }

    /// Sets the strongest effect.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.row.declared.effect = effect;
        self
    }

    /// Sets the effect depending on the parameters.
    pub fn effect_from(mut self, effect: impl Fn(&P) -> Effect + 'static) -> Self {
        self.row.effect_from = Some(Box::new(effect));
        self
    }

    /// Declares that repeating a call has no further effect.
    pub fn idempotent(mut self) -> Self {
        self.row.declared.idempotent = true;
        self
    }

    /// Declares that the tool accesses systems outside the host, such as the web.
    pub fn open_world(mut self) -> Self {
        self.row.declared.open_world = true;
        self
    }

    /// Names the boolean argument that makes a mutating call a dry run.
    pub fn dry_run(mut self, argument: &'static str) -> Self {
        self.row.declared.dry_run = Some(argument.into());
        self
    }

    /// Makes a request envelope call `tool` with this argument first, and this tool only if the argument's target
    /// exists. `tool` must be read-only, belong to the same gate, and take the value under the same name or as its only
    /// required argument.
    pub fn precheck(self, argument: &'static str, tool: &'static str) -> Self {
        self.schema(move |_, schema| {
            schema["x-target"] = argument.into();
            schema["x-precheck"] = tool.into();
        })
    }

    /// Makes a request envelope do a dry run first; see [`Self::dry_run`].
    pub fn precheck_by_dry_run(self) -> Self {
        let name = self.row.declared.name.clone();
        self.schema(move |_, schema| schema["x-precheck"] = name.as_str().into())
    }

    /// Declares that the tool never changes or removes existing data.
    pub fn additive(mut self) -> Self {
        self.row.declared.additive = true;
        self
    }

    /// Declares that the tool only calls other tools. Workflows use their effects instead of this tool's.
    pub fn forwards(mut self) -> Self {
        self.row.forwards = Some(true.into());
        self
    }

    /// Declares that the tool [forwards](Self::forwards) calls of the caller's code. Other tools cannot call it.
    pub fn runs_code(mut self) -> Self {
        self.row.forwards = Some("code".into());
        self
    }

    /// Makes every call a task that the client follows in the background. Clients without tasks cannot call the tool.
    ///
    /// Other tools of a gate become tasks by themselves: if `limits.time` is over a minute, the client supports tasks, and
    /// the call takes more than half a second.
    pub fn only_as_task(mut self) -> Self {
        self.row.task_only = true;
        self
    }

    /// Sets `_meta`: an object with hints that some clients read.
    pub fn meta(mut self, meta: impl Fn(&P) -> Option<Value> + 'static) -> Self {
        self.row.meta = Some(Box::new(meta));
        self
    }

    /// Offers the tool only with some parameters.
    pub fn only_if(mut self, offered: impl Fn(&P) -> bool + 'static) -> Self {
        self.row.offered = Some(Box::new(offered));
        self
    }

    /// Adds an icon for users, at most four. See [`Icon`].
    pub fn icon(mut self, icon: Icon) -> Self {
        self.row.declared.icons.push(icon);
        self
    }

    /// Declares the type of [structured data](Reply::structured) in each reply.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.row.output = Some(schema::for_reply::<T>);
        self
    }

    /// Sets an argument's default in the schema, depending on the parameters.
    pub fn default_from(self, argument: &'static str, value: impl Fn(&P) -> Value + 'static) -> Self {
        self.schema(move |params, shape| schema::set_default(shape, argument, value(params)))
    }

    /// Adjusts the schema of the arguments, depending on the parameters.
    pub fn schema(mut self, shape: impl Fn(&P, &mut Value) + 'static) -> Self {
        self.row.shapes.push(Box::new(shape));
        self
    }

    /// Sets the handler and completes the tool.
    pub fn run(self, handler: impl Fn(&Call<P>, A) -> Result<Reply, Fault> + 'static) -> Tool<P> {
        let name = self.row.declared.name.clone();
        let run = move |call: &Call<P>, arguments: &str| handler(call, read_arguments(&name, arguments)?);
        Tool { row: self.row, run: Box::new(run) }
    }
}

impl<P: Params> Tool<P> {
    /// Returns the name that the gate declares.
    pub fn name(&self) -> &str {
        &self.row.declared.name
    }

    pub(crate) fn is_offered(&self, params: &P) -> bool {
        self.row.offered.as_ref().is_none_or(|offered| offered(params))
    }

    pub(crate) fn declare(&self, params: &P) -> types::Tool {
        let row = &self.row;
        let mut meta = row.meta.as_ref().and_then(|meta| meta(params));
        if row.task_only {
            meta.get_or_insert_with(|| Value::Object(Map::new()))[TASK] = "required".into();
        }
        if let Some(forwards) = &row.forwards {
            meta.get_or_insert_with(|| Value::Object(Map::new()))[FORWARDS] = forwards.clone();
        }
        let mut input = (row.input)();
        row.shapes.iter().for_each(|shape| shape(params, &mut input));
        types::Tool {
            description: row.description.as_ref().map(|d| d(params)).unwrap_or_default(),
            input_schema: input.to_string(),
            output_schema: row.output.map(|schema| schema().to_string()),
            effect: row.effect_from.as_ref().map_or(row.declared.effect, |effect| effect(params)),
            meta: meta.map(|meta| meta.to_string()),
            ..row.declared.clone()
        }
    }

    pub(crate) fn call(&self, call: &Call<P>, arguments: &str) -> Result<Reply, Fault> {
        let reply = (self.run)(call, arguments)?;
        if self.row.output.is_some() && reply.structured.is_none() && !reply.is_error {
            return Err(Fault::internal(format!(
                "tool '{}' declares an output schema but sent no structured data",
                self.name()
            )));
        }
        Ok(reply)
    }
}

/// Treats a `null` argument as omitted, because many models send it that way.
fn read_arguments<A: DeserializeOwned>(tool: &str, json: &str) -> Result<A, Fault> {
    let invalid = |e: serde_json::Error| Fault::invalid(format!("arguments of '{tool}': {e}"));
    let mut value: Value = serde_json::from_str(json).map_err(invalid)?;
    if let Value::Object(map) = &mut value {
        map.retain(|_, v| !v.is_null());
    }
    serde_json::from_value(value).map_err(invalid)
}
