//! One row of a gate's table: what a tool is called, what it says about itself, and what it does.

use std::{borrow::Cow, marker::PhantomData};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Fault, Reply, bindings::gatehouse::gate::types, params::Params, schema};
use types::Icon;
pub use types::{Effect, Intent};

/// A call as a handler sees it. Its arguments come beside it, already typed.
#[derive(Debug, Clone)]
pub struct Call<P> {
    /// Unique among the calls of the host; the same id is in the host's log.
    pub id: String,
    /// The preset's parameters, with the gate's defaults filled in.
    pub params: P,
    /// Who calls, where the host knows.
    pub caller: Option<String>,
    /// Name of the preset that the call came through.
    pub preset: String,
    /// Milliseconds that this call may take from its start.
    pub deadline_ms: u64,
    /// What the client said beside the arguments: an object as JSON, without what is between the client and the host.
    pub meta: Option<String>,
}

/// The key of a tool's `_meta` by which the host knows it as one that only calls others. Clients do not get it.
const FORWARDS: &str = "gatehouse/forwards";

type DescribeFn<P> = Box<dyn Fn(&P) -> String>;
type ShapeFn<P> = Box<dyn Fn(&P, &mut Value)>;
type MetaFn<P> = Box<dyn Fn(&P) -> Option<Value>>;
type OfferedFn<P> = Box<dyn Fn(&P) -> bool>;
type EffectFn<P> = Box<dyn Fn(&P) -> Effect>;
type RunFn<P> = Box<dyn Fn(&Call<P>, &str) -> Result<Reply, Fault>>;

/// A tool, ready for the table of a gate with parameters `P`.
pub struct Tool<P> {
    row: ToolRow<P>,
    run: RunFn<P>,
}

struct ToolRow<P> {
    name: Cow<'static, str>,
    title: Option<&'static str>,
    description: Option<DescribeFn<P>>,
    input: fn() -> Value,
    shapes: Vec<ShapeFn<P>>,
    output: Option<fn() -> Value>,
    intent: Intent,
    effect: Effect,
    effect_from: Option<EffectFn<P>>,
    idempotent: bool,
    open_world: bool,
    dry_run: Option<&'static str>,
    additive: bool,
    forwards: Option<Value>,
    meta: Option<MetaFn<P>>,
    icons: Vec<Icon>,
    offered: Option<OfferedFn<P>>,
}

/// A tool that is being declared; [`ToolBuilder::run`] completes it.
pub struct ToolBuilder<P, A> {
    row: ToolRow<P>,
    args: PhantomData<fn(A)>,
}

/// Starts a tool of a gate with parameters `P`, called with arguments `A`. Unless it says otherwise, a
/// tool is a read-only query over what the host keeps.
pub fn tool<P: Params, A: DeserializeOwned + JsonSchema + 'static>(
    name: impl Into<Cow<'static, str>>,
) -> ToolBuilder<P, A> {
    let row = ToolRow {
        name: name.into(),
        title: None,
        description: None,
        input: schema::for_arguments::<A>,
        shapes: Vec::new(),
        output: None,
        intent: Intent::Query,
        effect: Effect::ReadOnly,
        effect_from: None,
        idempotent: false,
        open_world: false,
        dry_run: None,
        additive: false,
        forwards: None,
        meta: None,
        icons: Vec::new(),
        offered: None,
    };
    ToolBuilder { row, args: PhantomData }
}

impl<P: Params, A: DeserializeOwned + JsonSchema + 'static> ToolBuilder<P, A> {
    /// A name for people.
    #[must_use]
    pub fn title(mut self, title: &'static str) -> Self {
        self.row.title = Some(title);
        self
    }

    /// When to use the tool, what comes back, and which tool to try next. The parameters are at hand so
    /// that their values can be told.
    #[must_use]
    pub fn description<S: Into<String>>(mut self, describe: impl Fn(&P) -> S + 'static) -> Self {
        self.row.description = Some(Box::new(move |p| describe(p).into()));
        self
    }

    /// What the tool is for; the host sets time-outs and retries by it.
    #[must_use]
    pub fn intent(mut self, intent: Intent) -> Self {
        self.row.intent = intent;
        self
    }

    /// The strongest thing the tool may do to the world.
    #[must_use]
    pub fn effect(mut self, effect: Effect) -> Self {
        self.row.effect = effect;
        self
    }

    /// The same where it depends on parameters.
    #[must_use]
    pub fn effect_from(mut self, effect: impl Fn(&P) -> Effect + 'static) -> Self {
        self.row.effect_from = Some(Box::new(effect));
        self
    }

    /// Calling it twice with the same arguments is the same as calling it once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.row.idempotent = true;
        self
    }

    /// It reaches beyond what the host keeps.
    #[must_use]
    pub fn open_world(mut self) -> Self {
        self.row.open_world = true;
        self
    }

    /// Name of the boolean argument that makes a mutating call a rehearsal.
    #[must_use]
    pub fn dry_run(mut self, argument: &'static str) -> Self {
        self.row.dry_run = Some(argument);
        self
    }

    /// Declares that a request envelope calls `tool` with this argument first, and this tool only if that finds it.
    /// `tool` reads, belongs to the same gate, and takes the value under the same name or as its only required argument.
    #[must_use]
    pub fn precheck(self, argument: &'static str, tool: &'static str) -> Self {
        self.schema(move |_, schema| {
            schema["x-target"] = argument.into();
            schema["x-precheck"] = tool.into();
        })
    }

    /// Declares that a request envelope makes a dry run of a call before the call itself; see [`Self::dry_run`].
    #[must_use]
    pub fn precheck_by_dry_run(self) -> Self {
        let own = self.row.name.clone();
        self.schema(move |_, schema| schema["x-precheck"] = own.as_ref().into())
    }

    /// It only adds: what is there when it is called is neither changed nor removed.
    #[must_use]
    pub fn additive(mut self) -> Self {
        self.row.additive = true;
        self
    }

    /// It does nothing but call other tools. Workflows go by those, and not by the effect that this one declares.
    #[must_use]
    pub fn forwards(mut self) -> Self {
        self.row.forwards = Some(true.into());
        self
    }

    /// It [forwards](Self::forwards) the calls of its caller's code. No such tool is called on behalf of another one.
    #[must_use]
    pub fn runs_code(mut self) -> Self {
        self.row.forwards = Some("code".into());
        self
    }

    /// What clients get as the tool's `_meta`: an object, for hints that some of them read.
    #[must_use]
    pub fn meta(mut self, meta: impl Fn(&P) -> Option<Value> + 'static) -> Self {
        self.row.meta = Some(Box::new(meta));
        self
    }

    /// There only with some parameters; with others it is as unknown as a tool that the gate has not.
    #[must_use]
    pub fn only_if(mut self, offered: impl Fn(&P) -> bool + 'static) -> Self {
        self.row.offered = Some(Box::new(offered));
        self
    }

    /// A picture for people; at most four of them. See [`Icon`].
    #[must_use]
    pub fn icon(mut self, icon: Icon) -> Self {
        self.row.icons.push(icon);
        self
    }

    /// Every reply carries data of this type, see [`Reply::structured`].
    #[must_use]
    pub fn output<T: JsonSchema>(mut self) -> Self {
        self.row.output = Some(schema::for_reply::<T>);
        self
    }

    /// Shows in the schema what an argument is when it is left out, where that depends on parameters.
    #[must_use]
    pub fn default_from(self, argument: &'static str, value: impl Fn(&P) -> Value + 'static) -> Self {
        self.schema(move |params, shape| schema::set_default(shape, argument, value(params)))
    }

    /// Changes the generated schema of the arguments, by the parameters.
    #[must_use]
    pub fn schema(mut self, shape: impl Fn(&P, &mut Value) + 'static) -> Self {
        self.row.shapes.push(Box::new(shape));
        self
    }

    /// Completes the tool with what it does.
    pub fn run(self, handler: impl Fn(&Call<P>, A) -> Result<Reply, Fault> + 'static) -> Tool<P> {
        let name = self.row.name.clone();
        let run = move |call: &Call<P>, arguments: &str| handler(call, read_arguments(&name, arguments)?);
        Tool { row: self.row, run: Box::new(run) }
    }
}

impl<P: Params> Tool<P> {
    /// The name as the gate declares it.
    pub fn name(&self) -> &str {
        &self.row.name
    }

    pub(crate) fn is_offered(&self, params: &P) -> bool {
        self.row.offered.as_ref().is_none_or(|offered| offered(params))
    }

    pub(crate) fn declare(&self, params: &P) -> types::Tool {
        let row = &self.row;
        let mut meta = row.meta.as_ref().and_then(|meta| meta(params));
        if let Some(forwards) = &row.forwards {
            meta.get_or_insert_with(|| Value::Object(Map::new()))[FORWARDS] = forwards.clone();
        }
        let mut input = (row.input)();
        row.shapes.iter().for_each(|shape| shape(params, &mut input));
        types::Tool {
            name: row.name.to_string(),
            title: row.title.map(Into::into),
            description: row.description.as_ref().map(|d| d(params)).unwrap_or_default(),
            input_schema: input.to_string(),
            output_schema: row.output.map(|schema| schema().to_string()),
            intent: row.intent,
            effect: row.effect_from.as_ref().map_or(row.effect, |effect| effect(params)),
            idempotent: row.idempotent,
            open_world: row.open_world,
            dry_run: row.dry_run.map(Into::into),
            additive: row.additive,
            meta: meta.map(|meta| meta.to_string()),
            icons: row.icons.clone(),
        }
    }

    pub(crate) fn call(&self, call: &Call<P>, arguments: &str) -> Result<Reply, Fault> {
        let reply = (self.run)(call, arguments)?;
        if self.row.output.is_some() && reply.structured.is_none() && !reply.is_error {
            return Err(Fault::internal(format!("tool '{}' sent no data beside its text", self.row.name)));
        }
        Ok(reply)
    }
}

/// An argument that is null counts as left out, as many models mean it.
fn read_arguments<A: DeserializeOwned>(tool: &str, json: &str) -> Result<A, Fault> {
    let invalid = |e: serde_json::Error| Fault::invalid(format!("arguments of '{tool}': {e}"));
    let mut value: Value = serde_json::from_str(json).map_err(invalid)?;
    if let Value::Object(map) = &mut value {
        map.retain(|_, v| !v.is_null());
    }
    serde_json::from_value(value).map_err(invalid)
}
