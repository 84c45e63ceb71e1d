//! [`Gate`]: a name and a table of tools.

use crate::{
    Fault, Params, Reply, Tool,
    bindings::gatehouse::gate::types::{self, Manifest},
    exports::OptionalExports,
    params,
    tool::Call,
};

type ParamsCheck<P> = fn(&P) -> Result<(), Fault>;

type ToolFactory<P> = Box<dyn Fn(&P) -> Result<Vec<Tool<P>>, Fault>>;

/// A gate with parameters `P`. It has no state: the host builds it again for each call.
#[must_use]
pub struct Gate<P> {
    name: &'static str,
    version: &'static str,
    summary: &'static str,
    tools: Vec<Tool<P>>,
    params_tools: Option<ToolFactory<P>>,
    check: Option<ParamsCheck<P>>,
    prepare: Option<fn()>,
    pub(crate) exports: OptionalExports<P>,
}

impl<P: Params> Gate<P> {
    /// Creates a gate without tools. `summary` is one sentence for lists of gates.
    pub fn new(name: &'static str, version: &'static str, summary: &'static str) -> Self {
        Self {
            name,
            version,
            summary,
            tools: Vec::new(),
            params_tools: None,
            check: None,
            prepare: None,
            exports: OptionalExports::default(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Adds a tool. Lists show tools in the order they were added.
    pub fn tool(mut self, tool: Tool<P>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools that depend on the parameters, after those of [`tool`](Self::tool). `tools` also runs for each call.
    /// A fault rejects the parameters.
    pub fn tools_from(mut self, tools: impl Fn(&P) -> Result<Vec<Tool<P>>, Fault> + 'static) -> Self {
        self.params_tools = Some(Box::new(tools));
        self
    }

    /// Sets a check that the parameter types do not express, for when the gate is described. A fault rejects the
    /// parameters.
    pub fn checked_by(mut self, check: fn(&P) -> Result<(), Fault>) -> Self {
        self.check = Some(check);
        self
    }

    fn tools_from_params(&self, params: &P) -> Result<Vec<Tool<P>>, Fault> {
        self.params_tools.as_ref().map_or_else(|| Ok(Vec::new()), |tools| tools(params))
    }

    /// Runs `prepare` when the gate is described. With `snapshot = true` under `[package.metadata.gate]` in Cargo.toml,
    /// the build describes the gate once, and each call starts with the resulting memory.
    pub fn prepared_by(mut self, prepare: fn()) -> Self {
        self.prepare = Some(prepare);
        self
    }

    /// Returns the manifest for parameters in JSON. Equal parameters give equal bytes; unknown ones are a fault.
    pub fn describe(&self, params: &str) -> Result<Manifest, Fault> {
        let params: P = params::check(params)?;
        self.check.map_or(Ok(()), |check| check(&params))?;
        self.prepare.into_iter().for_each(|prepare| prepare());
        let more = self.tools_from_params(&params)?;
        let tools: Vec<&Tool<P>> = self.tools.iter().chain(&more).collect();
        for (i, tool) in tools.iter().enumerate() {
            if tools[..i].iter().any(|t| t.name() == tool.name()) {
                let name = tool.name();
                return Err(Fault::internal(format!("gate '{}' declares '{name}' twice", self.name)));
            }
        }
        Ok(Manifest {
            name: self.name.into(),
            version: self.version.into(),
            summary: self.summary.into(),
            params_schema: params::schema::<P>()?.to_string(),
            tools: tools.iter().filter(|t| t.is_offered(&params)).map(|t| t.declare(&params)).collect(),
        })
    }

    /// Runs the tool that the call names.
    pub fn call(&self, call: types::Call) -> Result<Reply, Fault> {
        let params: P = params::read(&call.params)?;
        let more = self.tools_from_params(&params)?;
        let offered = || self.tools.iter().chain(&more).filter(|t| t.is_offered(&params));
        let Some(tool) = offered().find(|t| t.name() == call.tool) else {
            let have = params::list_names(offered().map(Tool::name));
            let fault = Fault::not_found(format!("gate '{}' has no tool '{}'", self.name, call.tool));
            return Err(fault.hint(format!("Its tools are {have}.")));
        };
        let types::Call { id, arguments, caller, preset, deadline_ms, meta, .. } = call;
        tool.call(&Call { id, params, caller, preset, deadline_ms, meta }, &arguments)
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::{Count, Effect, FaultKind, tool};

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct EchoParams {
        /// Number of repetitions.
        times: Count,
    }

    impl Default for EchoParams {
        fn default() -> Self {
            Self { times: Count::new(2) }
        }
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct EchoArgs {
        /// Text to repeat.
        text: String,
        /// Number of repetitions.
        times: Option<Count>,
    }

    #[derive(Serialize, JsonSchema)]
    struct EchoData {
        text: String,
    }

    fn gate() -> Gate<EchoParams> {
        let say = |call: &Call<EchoParams>, args: EchoArgs| {
            let text = args.text.repeat(args.times.unwrap_or(call.params.times).at_most(9) as usize);
            Reply::markdown(text.clone()).structured(&EchoData { text })
        };
        Gate::new("echo", "1.0.0", "Says things.")
            .tool(
                tool::<EchoParams, EchoArgs>("say")
                    .title("Say")
                    .description(|p| format!("Says it {} times.", p.times.at_most(9)))
                    .default_from("times", |p| p.times.at_most(9).into())
                    .idempotent()
                    .output::<EchoData>()
                    .run(say),
            )
            .tool(
                tool::<EchoParams, EchoArgs>("forget")
                    .effect(Effect::Mutating)
                    .output::<EchoData>()
                    .run(|_, _| Ok(Reply::markdown("no data"))),
            )
    }

    fn call(tool: &str, arguments: &str) -> Result<Reply, Fault> {
        crate::testing::call(&gate(), tool, arguments, "{\"times\":3}")
    }

    #[test]
    fn parameters_reach_descriptions_schemas_and_handlers() {
        let manifest = gate().describe("{\"times\":4}").unwrap();
        let say = &manifest.tools[0];
        assert_eq!(say.description, "Says it 4 times.");
        assert!(say.input_schema.contains("\"default\":4"), "{}", say.input_schema);
        assert!(say.output_schema.is_some() && say.idempotent && !say.open_world);
        assert_eq!(manifest.tools[1].effect, Effect::Mutating);
        assert_eq!(manifest, gate().describe("{\"times\":4}").unwrap());

        let reply = call("say", "{\"text\":\"a\"}").unwrap();
        assert_eq!(reply.text(), "aaa");
        assert_eq!(reply.structured.as_deref(), Some("{\"text\":\"aaa\"}"));
    }

    #[test]
    fn null_is_left_out() {
        assert_eq!(call("say", "{\"text\":\"a\",\"times\":null}").unwrap().text(), "aaa");
        assert_eq!(call("say", "{\"text\":\"a\",\"times\":1}").unwrap().text(), "a");
    }

    #[test]
    fn bad_arguments_are_invalid() {
        for bad in ["{}", "[]", "", "{\"text\":1}", "{\"text\":\"a\",\"tims\":1}"] {
            let fault = call("say", bad).unwrap_err();
            assert_eq!(fault.kind, FaultKind::InvalidArguments, "{bad}");
            assert!(fault.message.starts_with("arguments of 'say': "), "{}", fault.message);
        }
    }

    #[test]
    fn an_unknown_tool_is_not_found() {
        let fault = call("shout", "{}").unwrap_err();
        assert_eq!(fault.kind, FaultKind::NotFound);
        assert_eq!(fault.message, "gate 'echo' has no tool 'shout'");
        assert_eq!(fault.hint.as_deref(), Some("Its tools are 'say', 'forget'."));
    }

    #[test]
    fn missing_declared_data_is_an_internal_fault() {
        assert_eq!(call("forget", "{\"text\":\"a\"}").unwrap_err().kind, FaultKind::Internal);
    }

    #[test]
    fn a_tool_can_depend_on_parameters() {
        let rare = tool::<EchoParams, EchoArgs>("rare")
            .only_if(|p| p.times.at_most(9) > 2)
            .meta(|p| Some(serde_json::json!({"times": p.times})))
            .run(|_, _| Ok(Reply::markdown("there")));
        let gate = gate().tool(rare);
        assert_eq!(gate.describe("{}").unwrap().tools.len(), 2);
        let tools = gate.describe("{\"times\":3}").unwrap().tools;
        assert_eq!(tools[2].meta.as_deref(), Some("{\"times\":3}"));
        let call = |params| crate::testing::call(&gate, "rare", "{\"text\":\"a\"}", params);
        assert_eq!(call("{\"times\":3}").unwrap().text(), "there");
        assert_eq!(call("{}").unwrap_err().kind, FaultKind::NotFound);
    }

    #[test]
    fn parameters_may_declare_tools() {
        let gate = gate().tools_from(|p: &EchoParams| match p.times.at_most(9) {
            9 => Err(Fault::invalid("times: 9 is too often")),
            times => Ok(vec![
                tool::<EchoParams, EchoArgs>(format!("say_{times}"))
                    .run(move |_, args| Ok(Reply::markdown(args.text.repeat(times as usize)))),
            ]),
        });
        assert_eq!(gate.describe("{\"times\":3}").unwrap().tools[2].name, "say_3");
        assert_eq!(gate.describe("{\"times\":9}").unwrap_err().message, "times: 9 is too often");
        let call = |tool, params| crate::testing::call(&gate, tool, "{\"text\":\"a\"}", params);
        assert_eq!(call("say_3", "{\"times\":3}").unwrap().text(), "aaa");
        assert!(call("say_3", "{}").unwrap_err().hint.unwrap().contains("'say_2'"));
    }

    #[test]
    fn a_name_declared_twice_is_refused() {
        let twice = gate().tool(tool::<EchoParams, EchoArgs>("say").run(|_, _| Ok(Reply::markdown(""))));
        assert_eq!(twice.describe("{}").unwrap_err().message, "gate 'echo' declares 'say' twice");
    }
}
