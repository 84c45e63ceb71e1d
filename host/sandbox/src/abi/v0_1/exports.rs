//! Exports of a component: `tools` and optional interfaces, with the types of the latter. An export that differs from
//! the contract prevents loading.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    InvalidValue,
    budget::ByteBudget,
    catalog::ToolEntry,
    completion::{CompletionRequest, CompletionTarget, Completions},
    conversion::{ConvertedFile, DocumentFormat, MAX_LOSSES, SourceFile},
    effect,
    json::JsonReader,
    names::quoted,
    outcome::{EmbeddedResource, Reply},
    prompt::{self, Prompt, PromptMessage},
    resource::{self, ResourcePage, UriTemplate},
    source::Listing,
    tool::ToolSpec,
};
use serde_json::Value;
use wasmtime::{
    Store,
    component::{Instance, InstancePre},
};

use super::{
    VERSION,
    bindings::exports::gatehouse::gate::{
        completion, convert, filter, prompts, resources, tools as wit_tools,
    },
    gatehouse::gate::types,
    tools,
};
use crate::{
    abi::{ContractExports, GuestError, GuestResult, ToolCall, converted},
    state::State,
};

pub(crate) struct GatePre {
    pre: InstancePre<State>,
    exports: ExportIndices,
}

pub(crate) struct InstanceExports {
    instance: Instance,
    exports: ExportIndices,
    tools: wit_tools::Guest,
}

impl GatePre {
    pub(in crate::abi) fn new(pre: InstancePre<State>) -> wasmtime::Result<Self> {
        Ok(Self { exports: ExportIndices::new(&pre)?, pre })
    }

    pub(in crate::abi) async fn instantiate_async(
        &self,
        store: &mut Store<State>,
    ) -> wasmtime::Result<InstanceExports> {
        let instance = self.pre.instantiate_async(&mut *store).await?;
        let tools = self.exports.tools.load(store, &instance)?;
        Ok(InstanceExports { instance, exports: self.exports.clone(), tools })
    }
}

/// Defines the optional exports, each with a method that loads it or fails if the component lacks it.
macro_rules! optional_exports {
    ($($interface:ident),*) => {
        #[derive(Clone)]
        struct ExportIndices {
            tools: wit_tools::GuestIndices,
            $($interface: Option<$interface::GuestIndices>,)*
        }

        impl ExportIndices {
            fn new(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                let has = |interface: &str| {
                    let name = format!("gatehouse:gate/{interface}@{VERSION}");
                    pre.component().get_export_index(None, &name).is_some()
                };
                Ok(Self {
                    tools: wit_tools::GuestIndices::new(pre)?,
                    $($interface: match has(stringify!($interface)) {
                        true => Some($interface::GuestIndices::new(pre)?),
                        false => None,
                    },)*
                })
            }
        }

        impl InstanceExports {$(
            fn $interface(&self, store: &mut Store<State>) -> GuestResult<$interface::Guest> {
                let missing = || GuestError::Broken(concat!("has no export '", stringify!($interface), "'").into());
                let indices = self.exports.$interface.as_ref().ok_or_else(missing)?;
                indices.load(store, &self.instance).map_err(GuestError::Trap)
            }
        )*}
    };
}

optional_exports! { completion, convert, filter, prompts, resources }

#[async_trait]
impl ContractExports for InstanceExports {
    async fn describe(&self, store: &mut Store<State>) -> GuestResult<Listing> {
        let params = params(store);
        let answer = self.tools.call_describe(&mut *store, &params).await;
        let mut listing = converted(answer, |manifest| tools::listing(manifest, &store.data().budget))?;
        listing.filter = self.exports.filter.is_some();
        listing.completes = self.exports.completion.is_some();
        listing.resources = self.exports.resources.is_some();
        if listing.resources {
            let answer = self.resources(store)?.call_templates(&mut *store, &params).await;
            listing.templates =
                converted(answer, |templates| Ok(templates.into_iter().map(UriTemplate::from).collect()))?;
        }
        if self.exports.prompts.is_some() {
            let answer = self.prompts(store)?.call_list(&mut *store, &params).await;
            listing.prompts =
                converted(answer, |prompts| Ok(prompts.into_iter().map(Prompt::from).collect()))?;
        }
        if self.exports.convert.is_some() {
            let answer = self.convert(store)?.call_formats(&mut *store).await;
            listing.formats =
                converted(answer, |formats| Ok(formats.into_iter().map(DocumentFormat::from).collect()))?;
            for format in &mut listing.formats {
                format.name = quoted(&format.name, 100);
            }
        }
        Ok(listing)
    }

    async fn call(&self, store: &mut Store<State>, call: ToolCall) -> GuestResult<Reply> {
        let answer = self.tools.call_call(&mut *store, &call.into()).await;
        converted(answer, |reply| tools::reply(reply, &store.data().budget))
    }

    async fn filter(
        &self,
        store: &mut Store<State>,
        call: ToolCall,
        tool: Arc<ToolEntry>,
        reply: Reply,
    ) -> GuestResult<Option<Reply>> {
        let filter = self.filter(store)?;
        let (call, origin) = (call.into(), origin(&tool));
        let answer = filter.call_on_reply(&mut *store, &call, &origin, &reply.into()).await;
        converted(answer, |reply| reply.map(|reply| tools::reply(reply, &store.data().budget)).transpose())
    }

    async fn convert(&self, store: &mut Store<State>, file: SourceFile) -> GuestResult<ConvertedFile> {
        let SourceFile { name, media_type, bytes } = file;
        let answer = self.convert(store)?.call_convert(&mut *store, &bytes, &name, &media_type).await;
        converted(answer, |convert::Markdown { text, losses }| {
            let losses = losses.iter().take(MAX_LOSSES).map(|loss| quoted(loss, 200)).collect();
            Ok(ConvertedFile { text, losses })
        })
    }

    async fn list_resources(
        &self,
        store: &mut Store<State>,
        cursor: Option<String>,
    ) -> GuestResult<ResourcePage> {
        let (resources, params) = (self.resources(store)?, params(store));
        let answer = resources.call_list(&mut *store, &params, cursor.as_deref()).await;
        converted(answer, |page| Ok(page.into()))
    }

    async fn read_resource(
        &self,
        store: &mut Store<State>,
        uri: String,
    ) -> GuestResult<Vec<EmbeddedResource>> {
        let (resources, params) = (self.resources(store)?, params(store));
        let answer = resources.call_read(&mut *store, &params, &uri).await;
        converted(answer, |read| tools::resources(read, &store.data().budget))
    }

    async fn changes_in(&self, store: &mut Store<State>, uri: String) -> GuestResult<Option<u64>> {
        let (resources, params) = (self.resources(store)?, params(store));
        let answer = resources.call_changes_in(&mut *store, &params, &uri).await;
        converted(answer, Ok)
    }

    async fn get_prompt(
        &self,
        store: &mut Store<State>,
        name: String,
        arguments: String,
    ) -> GuestResult<Vec<PromptMessage>> {
        let (prompts, params) = (self.prompts(store)?, params(store));
        let answer = prompts.call_get(&mut *store, &params, &name, &arguments).await;
        converted(answer, |prompt_messages| messages(prompt_messages, &store.data().budget))
    }

    async fn complete(&self, store: &mut Store<State>, typed: CompletionRequest) -> GuestResult<Completions> {
        let (completion, params) = (self.completion(store)?, params(store));
        let answer = completion.call_complete(&mut *store, &params, &typed.into()).await;
        converted(answer, |completions| Ok(completions.into()))
    }
}

fn params(store: &Store<State>) -> String {
    store.data().capabilities.facts().params.to_string()
}

fn origin(entry: &ToolEntry) -> filter::Origin {
    filter::Origin {
        name: entry.name.to_string(),
        source: entry.id.source.name().to_string(),
        version: entry.version.to_string(),
        tool: (&*entry.declared).into(),
    }
}

/// Converts the messages of a prompt. The error names the JSON text that does not parse.
fn messages(
    messages: Vec<prompts::Message>,
    budget: &ByteBudget,
) -> Result<Vec<PromptMessage>, InvalidValue> {
    let mut reader = JsonReader::new(budget);
    let message = |message: prompts::Message| {
        let content = tools::content(&mut reader, message.content)?;
        Ok(PromptMessage { role: message.role.into(), content })
    };
    messages.into_iter().map(message).collect()
}

impl From<&ToolSpec> for types::Tool {
    fn from(tool: &ToolSpec) -> Self {
        let schema = |schema: &serde_json::Map<String, Value>| Value::Object(schema.clone()).to_string();
        Self {
            name: tool.name.to_string(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: schema(&tool.input_schema),
            output_schema: tool.output_schema.as_deref().map(schema),
            intent: tool.intent.into(),
            effect: tool.effect.into(),
            idempotent: tool.idempotent,
            open_world: tool.open_world,
            dry_run: tool.dry_run.clone(),
            additive: tool.additive,
            meta: tool.meta.as_ref().map(|meta| Value::Object((**meta).clone()).to_string()),
            icons: tool.icons.iter().cloned().map(Into::into).collect(),
        }
    }
}

impl From<CompletionRequest> for completion::Question {
    fn from(typed: CompletionRequest) -> Self {
        let CompletionRequest { target, argument, value, filled } = typed;
        let target = match target {
            CompletionTarget::Prompt(name) => completion::Target::Prompt(name),
            CompletionTarget::Template(template) => completion::Target::Template(template),
        };
        Self { target, argument, value, filled }
    }
}

enums! {
    effect::Intent => types::Intent { Query, Analyze, Generate, Modify, Execute }
    prompts::Role => prompt::PromptRole { User, Assistant }
}

records! {
    completion::Suggestions => Completions { values, total, more };
    convert::Format => DocumentFormat { name, endings, media_type };
    resources::Template => resource::UriTemplate { uri_template, name, title, description, mime_type };
    resources::ResourcePage => resource::ResourcePage { next } [resources];
    prompts::PromptArgument => prompt::PromptArgument { name, description, required };
    prompts::Prompt => prompt::Prompt { name, title, description } [arguments, icons];
}
