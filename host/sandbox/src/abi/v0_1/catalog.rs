//! `catalog`: the caller's tools. Requires the grant `catalog`.

use std::time::Duration;

use gatehouse_core::{catalog, outcome};
use serde_json::Value;

use super::gatehouse::gate::{catalog as wit, types};
use crate::state::State;

impl wit::Host for State {
    async fn tools(&mut self) -> Result<Vec<wit::Entry>, types::Fault> {
        let catalog = &self.capabilities.catalog()?.context.catalog;
        let entries = catalog.entries().iter().filter(|entry| entry.spec.is_for_models());
        Ok(entries.map(|entry| (&**entry).into()).collect())
    }

    async fn schema(&mut self, tool: String) -> Result<String, types::Fault> {
        let entry = self.capabilities.catalog()?.context.catalog.find_for_models(&tool)?;
        Ok(Value::Object((*entry.spec.input_schema).clone()).to_string())
    }

    async fn output_schema(&mut self, tool: String) -> Result<Option<String>, types::Fault> {
        let entry = self.capabilities.catalog()?.context.catalog.find_for_models(&tool)?;
        let schema = entry.spec.output_schema.as_ref();
        Ok(schema.map(|schema| Value::Object((**schema).clone()).to_string()))
    }

    async fn call(&mut self, tool: String, arguments: String) -> Result<types::Reply, types::Fault> {
        Ok(self.capabilities.call_tool(&tool, &arguments, None).await?.into())
    }

    async fn call_within(
        &mut self,
        tool: String,
        arguments: String,
        timeout_ms: u64,
    ) -> Result<types::Reply, types::Fault> {
        let limit = Some(Duration::from_millis(timeout_ms));
        Ok(self.capabilities.call_tool(&tool, &arguments, limit).await?.into())
    }

    async fn call_many(&mut self, calls: Vec<wit::ToolRequest>) -> Vec<Result<types::Reply, types::Fault>> {
        let calls = calls.into_iter().map(|call| (call.tool, call.arguments)).collect();
        let outcomes = self.capabilities.call_tools(calls).await;
        outcomes.into_iter().map(|outcome| Ok(outcome?.into())).collect()
    }
}

impl From<&catalog::ToolEntry> for wit::Entry {
    fn from(entry: &catalog::ToolEntry) -> Self {
        Self {
            name: entry.name.to_string(),
            source: entry.id.source.name().to_string(),
            tool: entry.id.name.to_string(),
            title: entry.spec.title.clone(),
            description: entry.spec.description.clone(),
            effect: entry.spec.effect.into(),
            idempotent: entry.spec.idempotent || entry.spec.effect == gatehouse_core::Effect::ReadOnly,
            dry_run: entry.spec.dry_run.clone(),
            structured: entry.spec.output_schema.is_some(),
        }
    }
}

impl From<outcome::Reply> for types::Reply {
    fn from(reply: outcome::Reply) -> Self {
        Self {
            content: reply.content.into_iter().map(Into::into).collect(),
            structured: reply.structured.map(|data| data.to_string()),
            is_error: reply.is_error,
            meta: reply.meta.map(|meta| Value::Object(meta).to_string()),
        }
    }
}

impl From<outcome::ContentPart> for types::Content {
    fn from(content: outcome::ContentPart) -> Self {
        match content {
            outcome::ContentPart::Text(text) => Self::Text(text),
            outcome::ContentPart::Image(image) => Self::Image(image.into()),
            outcome::ContentPart::Audio(audio) => Self::Audio(audio.into()),
            outcome::ContentPart::Link(link) => Self::Link(link.into()),
            outcome::ContentPart::Embedded(resource) => Self::Embedded(resource.into()),
            outcome::ContentPart::Other(block) => Self::Other(Value::Object(block).to_string()),
        }
    }
}
