//! Optional exports of a gate: a reply filter, resources, prompts, completion and conversion. [`export!`](crate::export) selects
//! those that the component exports.

use serde_json::{Map, Value};

pub use crate::bindings::{
    completing::exports::gatehouse::gate::completion::{Question as Typed, Suggestions, Target},
    converting::exports::gatehouse::gate::convert::{Format as FileFormat, Markdown as ConvertedMarkdown},
    filtering::exports::gatehouse::gate::filter::Origin,
    prompting::exports::gatehouse::gate::prompts::{Message, Prompt, PromptArgument, Role},
    resourcing::exports::gatehouse::gate::resources::{ResourcePage, Template},
};
use crate::{Call, EmbeddedResource, Fault, Gate, Params, Reply, bindings::gatehouse::gate::types, params};

/// A reply that a filter may replace, with the arguments of its call.
#[derive(Debug, Clone, PartialEq)]
pub struct OutgoingReply {
    /// Tool that the reply comes from.
    pub origin: Origin,
    /// Arguments of the call as a JSON object.
    pub arguments: String,
    /// Reply that the client gets unless the filter replaces it.
    pub reply: Reply,
}

type FilterFn<P> = Box<dyn Fn(&Call<P>, OutgoingReply) -> Result<Option<Reply>, Fault>>;
type FormatsFn = fn() -> Vec<FileFormat>;
type ConvertFn = fn(&[u8], &str, &str) -> Result<ConvertedMarkdown, Fault>;
type TemplatesFn<P> = Box<dyn Fn(&P) -> Result<Vec<Template>, Fault>>;
type ListFn<P> = Box<dyn Fn(&P, Option<&str>) -> Result<ResourcePage, Fault>>;
type ReadFn<P> = Box<dyn Fn(&P, &str) -> Result<Vec<EmbeddedResource>, Fault>>;
type ChangesInFn<P> = Box<dyn Fn(&P, &str) -> Result<Option<u64>, Fault>>;
type PromptsFn<P> = Box<dyn Fn(&P) -> Result<Vec<Prompt>, Fault>>;
type CompleteFn<P> = Box<dyn Fn(&P, &Typed) -> Result<Suggestions, Fault>>;
type MessagesFn<P> = Box<dyn Fn(&P, &str, &Map<String, Value>) -> Result<Vec<Message>, Fault>>;

#[derive(Default)]
pub(crate) struct OptionalExports<P> {
    converter: Option<(FormatsFn, ConvertFn)>,
    filter: Option<FilterFn<P>>,
    resources: Option<(TemplatesFn<P>, ListFn<P>, ReadFn<P>)>,
    changes_in: Option<ChangesInFn<P>>,
    prompts: Option<(PromptsFn<P>, MessagesFn<P>)>,
    complete: Option<CompleteFn<P>>,
}

impl<P: Params> Gate<P> {
    /// Sets the reply filter, which returns a replacement, or `None` to leave the reply unchanged, as does a fault.
    /// Needs `export!(gate, filter)`.
    pub fn filter(
        mut self,
        filter: impl Fn(&Call<P>, OutgoingReply) -> Result<Option<Reply>, Fault> + 'static,
    ) -> Self {
        self.exports.filter = Some(Box::new(filter));
        self
    }

    /// Sets the converter: its formats, and the Markdown of a file by its bytes, its name and its media type. The
    /// message of a fault follows the file's name. Needs `export!(gate, convert)`.
    pub fn converter(mut self, formats: FormatsFn, convert: ConvertFn) -> Self {
        self.exports.converter = Some((formats, convert));
        self
    }

    /// Returns the formats that the gate converts.
    pub fn formats(&self) -> Result<Vec<FileFormat>, Fault> {
        self.handler(&self.exports.converter, "convert").map(|(formats, _)| formats())
    }

    /// Converts a file.
    pub fn convert(&self, file: &[u8], name: &str, media_type: &str) -> Result<ConvertedMarkdown, Fault> {
        let (_, convert) = self.handler(&self.exports.converter, "convert")?;
        convert(file, name, media_type)
    }

    /// Sets the resource handlers: the URI templates, a page of the listing from a cursor on, and the contents of a
    /// URI. Needs `export!(gate, resources)`.
    pub fn resources(
        mut self,
        templates: impl Fn(&P) -> Result<Vec<Template>, Fault> + 'static,
        list: impl Fn(&P, Option<&str>) -> Result<ResourcePage, Fault> + 'static,
        read: impl Fn(&P, &str) -> Result<Vec<EmbeddedResource>, Fault> + 'static,
    ) -> Self {
        self.exports.resources = Some((Box::new(templates), Box::new(list), Box::new(read)));
        self
    }

    /// Sets the function that returns the milliseconds until a resource changes by itself, if known. The host then
    /// notifies subscribed clients.
    pub fn changing(mut self, changes_in: impl Fn(&P, &str) -> Result<Option<u64>, Fault> + 'static) -> Self {
        self.exports.changes_in = Some(Box::new(changes_in));
        self
    }

    /// Sets the prompt handlers: the list, and the messages of a prompt by its listed name and string arguments. Needs
    /// `export!(gate, prompts)`.
    pub fn prompts(
        mut self,
        list: impl Fn(&P) -> Result<Vec<Prompt>, Fault> + 'static,
        get: impl Fn(&P, &str, &Map<String, Value>) -> Result<Vec<Message>, Fault> + 'static,
    ) -> Self {
        self.exports.prompts = Some((Box::new(list), Box::new(get)));
        self
    }

    /// Sets the completion of existing prompt arguments and template variables. Needs `export!(gate, completion)`, and
    /// prompts or resources.
    pub fn completion(
        mut self,
        complete: impl Fn(&P, &Typed) -> Result<Suggestions, Fault> + 'static,
    ) -> Self {
        self.exports.complete = Some(Box::new(complete));
        self
    }

    /// Returns completions for a typed value.
    pub fn complete(&self, params: &str, typed: &Typed) -> Result<Suggestions, Fault> {
        let complete = self.handler(&self.exports.complete, "completion")?;
        complete(&params::read(params)?, typed)
    }

    /// Applies the filter to the reply to `call`.
    pub fn on_reply(&self, call: types::Call, origin: Origin, reply: Reply) -> Result<Option<Reply>, Fault> {
        let filter = self.handler(&self.exports.filter, "filter")?;
        let types::Call { id, arguments, params, caller, preset, deadline_ms, meta, .. } = call;
        let call = Call { id, params: params::read(&params)?, caller, preset, deadline_ms, meta };
        filter(&call, OutgoingReply { origin, arguments, reply })
    }

    /// Returns the URI templates for these parameters.
    pub fn resource_templates(&self, params: &str) -> Result<Vec<Template>, Fault> {
        let (templates, ..) = self.handler(&self.exports.resources, "resources")?;
        templates(&params::read(params)?)
    }

    /// Returns a page of the resource list.
    pub fn list_resources(&self, params: &str, cursor: Option<&str>) -> Result<ResourcePage, Fault> {
        let (_, list, _) = self.handler(&self.exports.resources, "resources")?;
        list(&params::read(params)?, cursor)
    }

    /// Returns the contents of a resource.
    pub fn read_resource(&self, params: &str, uri: &str) -> Result<Vec<EmbeddedResource>, Fault> {
        let (.., read) = self.handler(&self.exports.resources, "resources")?;
        read(&params::read(params)?, uri)
    }

    /// Returns the milliseconds until a resource changes by itself. Faults if it is not readable.
    pub fn resource_changes_in(&self, params: &str, uri: &str) -> Result<Option<u64>, Fault> {
        match &self.exports.changes_in {
            Some(changes_in) => changes_in(&params::read(params)?, uri),
            None => self.read_resource(params, uri).map(|_| None),
        }
    }

    /// Returns the prompts for these parameters.
    pub fn list_prompts(&self, params: &str) -> Result<Vec<Prompt>, Fault> {
        let (list, _) = self.handler(&self.exports.prompts, "prompts")?;
        list(&params::read(params)?)
    }

    /// Returns the messages of a prompt. `arguments` is a JSON object as text.
    pub fn get_prompt(&self, params: &str, name: &str, arguments: &str) -> Result<Vec<Message>, Fault> {
        let (list, get) = self.handler(&self.exports.prompts, "prompts")?;
        let params: P = params::read(params)?;
        let prompts = list(&params)?;
        if !prompts.iter().any(|prompt| prompt.name == name) {
            let have = params::list_names(prompts.iter().map(|prompt| prompt.name.as_str()));
            let fault = Fault::not_found(format!("gate '{}' has no prompt '{name}'", self.name()));
            return Err(fault.hint(format!("Its prompts are {have}.")));
        }
        let arguments: Map<String, Value> = serde_json::from_str(arguments)
            .map_err(|e| Fault::invalid(format!("arguments of prompt '{name}': {e}")))?;
        get(&params, name, &arguments)
    }

    fn handler<'a, T>(&self, handler: &'a Option<T>, export: &str) -> Result<&'a T, Fault> {
        handler.as_ref().ok_or_else(|| {
            Fault::internal(format!("gate '{}' exports `{export}` but registers no handler", self.name()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, FaultKind, NoParams, testing};

    fn gate() -> Gate<NoParams> {
        let shout = |_: &Call<NoParams>, outgoing: OutgoingReply| {
            let text = outgoing.reply.text();
            Ok((text.len() < 9).then(|| Reply::markdown(text.to_uppercase() + &outgoing.arguments)))
        };
        let prompt =
            Prompt { name: "greet".into(), title: None, description: None, arguments: vec![], icons: vec![] };
        Gate::new("loud", "1.0.0", "Shouts.").filter(shout).prompts(
            move |_| Ok(vec![prompt.clone()]),
            |_, name, arguments| {
                let content = Content::Text(format!("{name} {}", arguments["whom"]));
                Ok(vec![Message { role: Role::User, content }])
            },
        )
    }

    #[test]
    fn a_filter_gets_reply_and_arguments_and_can_leave_the_reply() {
        let filtered =
            |text| testing::filter(&gate(), testing::origin("say"), "{}", Reply::markdown(text), "{}");
        assert_eq!(filtered("short").unwrap().unwrap().text(), "SHORT{}");
        assert_eq!(filtered("long enough").unwrap(), None);
    }

    #[test]
    fn an_unknown_prompt_is_not_found() {
        let messages = gate().get_prompt("{}", "greet", "{\"whom\":\"us\"}").unwrap();
        assert_eq!(messages[0].content, Content::Text("greet \"us\"".into()));
        let fault = gate().get_prompt("{}", "great", "{}").unwrap_err();
        assert_eq!(
            (fault.kind, fault.hint.as_deref()),
            (FaultKind::NotFound, Some("Its prompts are 'greet'."))
        );
    }

    #[test]
    fn an_export_without_a_handler_is_an_internal_fault() {
        let fault = gate().resource_templates("{}").unwrap_err();
        assert_eq!(fault.message, "gate 'loud' exports `resources` but registers no handler");
    }
}
