//! Exports of a component: `tools` and optional interfaces. One that differs from the contract prevents loading.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    catalog::ToolEntry,
    completion::{CompletionRequest, Completions},
    outcome::{EmbeddedResource, Reply},
    prompt::{Prompt, PromptMessage},
    resource::{ResourcePage, UriTemplate},
    source::Listing,
};
use wasmtime::{
    Store,
    component::{Instance, InstancePre},
};

use super::{
    VERSION,
    bindings::exports::gatehouse::gate::{completion, filter, prompts, resources, tools as wit_tools},
    optional, tools,
};
use crate::{
    abi::{ContractExports, GuestError, ToolCall, converted},
    state::State,
};

pub(crate) struct GatePre {
    pre: InstancePre<State>,
    exports: ExportIndices,
}

#[derive(Clone)]
struct ExportIndices {
    tools: wit_tools::GuestIndices,
    completion: Option<completion::GuestIndices>,
    filter: Option<filter::GuestIndices>,
    prompts: Option<prompts::GuestIndices>,
    resources: Option<resources::GuestIndices>,
}

pub(crate) struct InstanceExports {
    instance: Instance,
    exports: ExportIndices,
    tools: wit_tools::Guest,
}

impl GatePre {
    pub(in crate::abi) fn new(pre: InstancePre<State>) -> wasmtime::Result<Self> {
        let has = |interface: &str| {
            let name = format!("gatehouse:gate/{interface}@{VERSION}");
            pre.component().get_export_index(None, &name).is_some()
        };
        let exports = ExportIndices {
            tools: wit_tools::GuestIndices::new(&pre)?,
            completion: has("completion").then(|| completion::GuestIndices::new(&pre)).transpose()?,
            filter: has("filter").then(|| filter::GuestIndices::new(&pre)).transpose()?,
            prompts: has("prompts").then(|| prompts::GuestIndices::new(&pre)).transpose()?,
            resources: has("resources").then(|| resources::GuestIndices::new(&pre)).transpose()?,
        };
        Ok(Self { pre, exports })
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

fn missing_export(interface: &str) -> GuestError {
    GuestError::Broken(format!("has no export '{interface}'").into())
}

#[async_trait]
impl ContractExports for InstanceExports {
    async fn describe(&self, store: &mut Store<State>, params: &str) -> Result<Listing, GuestError> {
        let params = params.to_owned();
        let answer = self.tools.call_describe(&mut *store, &params).await;
        let mut listing = converted(answer, |manifest| tools::listing(manifest, &store.data().budget))?;
        listing.filter = self.exports.filter.is_some();
        listing.completes = self.exports.completion.is_some();
        if let Some(resources) = &self.exports.resources {
            let resources = resources.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
            let answer = resources.call_templates(&mut *store, &params).await;
            listing.resources = true;
            listing.templates =
                converted(answer, |all| Ok(all.into_iter().map(UriTemplate::from).collect()))?;
        }
        if let Some(prompts) = &self.exports.prompts {
            let prompts = prompts.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
            let answer = prompts.call_list(&mut *store, &params).await;
            listing.prompts = converted(answer, |all| Ok(all.into_iter().map(Prompt::from).collect()))?;
        }
        Ok(listing)
    }

    async fn call(&self, store: &mut Store<State>, call: ToolCall) -> Result<Reply, GuestError> {
        let answer = self.tools.call_call(&mut *store, &call.into()).await;
        converted(answer, |reply| tools::reply(reply, &store.data().budget))
    }

    async fn filter(
        &self,
        store: &mut Store<State>,
        call: ToolCall,
        tool: Arc<ToolEntry>,
        reply: Reply,
    ) -> Result<Option<Reply>, GuestError> {
        let filter = self.exports.filter.as_ref().ok_or_else(|| missing_export("filter"))?;
        let filter = filter.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let (call, origin) = (call.into(), optional::origin(&tool));
        let answer = filter.call_on_reply(&mut *store, &call, &origin, &reply.into()).await;
        converted(answer, |reply| reply.map(|reply| tools::reply(reply, &store.data().budget)).transpose())
    }

    async fn list_resources(
        &self,
        store: &mut Store<State>,
        params: String,
        cursor: Option<String>,
    ) -> Result<ResourcePage, GuestError> {
        let resources = self.exports.resources.as_ref().ok_or_else(|| missing_export("resources"))?;
        let resources = resources.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let answer = resources.call_list(&mut *store, &params, cursor.as_deref()).await;
        converted(answer, |page| Ok(page.into()))
    }

    async fn read_resource(
        &self,
        store: &mut Store<State>,
        params: String,
        uri: String,
    ) -> Result<Vec<EmbeddedResource>, GuestError> {
        let resources = self.exports.resources.as_ref().ok_or_else(|| missing_export("resources"))?;
        let resources = resources.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let answer = resources.call_read(&mut *store, &params, &uri).await;
        converted(answer, |read| tools::resources(read, &store.data().budget))
    }

    async fn changes_in(
        &self,
        store: &mut Store<State>,
        params: String,
        uri: String,
    ) -> Result<Option<u64>, GuestError> {
        let resources = self.exports.resources.as_ref().ok_or_else(|| missing_export("resources"))?;
        let resources = resources.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let answer = resources.call_changes_in(&mut *store, &params, &uri).await;
        converted(answer, Ok)
    }

    async fn get_prompt(
        &self,
        store: &mut Store<State>,
        params: String,
        name: String,
        arguments: String,
    ) -> Result<Vec<PromptMessage>, GuestError> {
        let prompts = self.exports.prompts.as_ref().ok_or_else(|| missing_export("prompts"))?;
        let prompts = prompts.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let answer = prompts.call_get(&mut *store, &params, &name, &arguments).await;
        converted(answer, |made| optional::messages(made, &store.data().budget))
    }

    async fn complete(
        &self,
        store: &mut Store<State>,
        params: String,
        typed: CompletionRequest,
    ) -> Result<Completions, GuestError> {
        let completion = self.exports.completion.as_ref().ok_or_else(|| missing_export("completion"))?;
        let completion = completion.load(&mut *store, &self.instance).map_err(GuestError::Trap)?;
        let answer = completion.call_complete(&mut *store, &params, &typed.into()).await;
        converted(answer, |made| Ok(made.into()))
    }
}
