//! Resources, prompts and completions of a server, with the URIs that clients see.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    CallContext, Fault,
    completion::{CompletionRequest, CompletionTarget, Completions},
    names::quoted,
    outcome::{EmbeddedResource, ResourceLink},
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::{DownstreamServer, InFlightGuard};
use crate::downstream::connection::CallFailure;

/// Time limit for listing resources of a connected server. After that, the stored list is used.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);

const MAX_REMEMBERED_BYTES: usize = 1 << 20;

impl DownstreamServer {
    /// Maps the listing to what clients see. Removes invalid prompts and templates, and returns the reasons.
    pub(super) fn expose_resources_and_prompts(&self, listing: &mut Listing) -> Vec<String> {
        let mut refused = Vec::new();
        let bare = Listing { params_schema: listing.params_schema.clone(), ..Listing::default() };
        let mut sound = |one: Listing| one.check().map_err(|why| refused.push(why.to_string())).is_ok();
        let mut seen = std::collections::HashSet::new();
        listing.prompts.retain(|prompt| {
            seen.insert(prompt.name.clone())
                && sound(Listing { prompts: vec![prompt.clone()], ..bare.clone() })
        });
        let templates = std::mem::take(&mut listing.templates);
        if listing.resources {
            let all = templates.into_iter().map(|template| self.addresses.template(template));
            listing.templates = vec![self.addresses.family(&self.definition.name)];
            listing
                .templates
                .extend(all.filter(|one| sound(Listing { templates: vec![one.clone()], ..bare.clone() })));
        }
        let mut left = MAX_REMEMBERED_BYTES;
        let known = std::mem::take(&mut listing.known_resources);
        let known = known.into_iter().filter_map(|link| self.expose_link(link)).take_while(|link| {
            let texts = [&link.title, &link.description, &link.mime_type].into_iter().flatten();
            let bytes = link.uri.len() + link.name.len() + texts.map(String::len).sum::<usize>();
            left.checked_sub(bytes).map(|rest| left = rest).is_some()
        });
        listing.known_resources = known.collect();
        refused
    }

    fn expose_link(&self, link: ResourceLink) -> Option<ResourceLink> {
        let uri = self.addresses.to_exposed(&link.uri)?;
        Some(ResourceLink { uri, ..link })
    }

    /// Returns a page of resources. Does not start the server: the stored list is enough to choose from.
    pub(super) async fn page(&self, cursor: Option<&str>) -> Result<ResourcePage, Fault> {
        let connection = self.connected();
        if let Some(connection) = connection {
            let _running = InFlightGuard::begin(self);
            match tokio::time::timeout(MAX_LIST_WAIT, connection.list_resources(cursor)).await {
                Ok(Ok(page)) => {
                    let resources =
                        page.resources.into_iter().filter_map(|link| self.expose_link(link)).collect();
                    return Ok(ResourcePage { resources, next: page.next });
                }
                Ok(Err(CallFailure::Refused { message, .. })) if cursor.is_some() => {
                    return Err(Fault::invalid(self.redactor.redact_text(message)));
                }
                _ => tracing::warn!(source = %self.id, "cannot list its resources; using the stored list"),
            }
        }
        if cursor.is_some() {
            return Err(Fault::invalid("server restarted; request the list again without a cursor"));
        }
        let known = self.known().await?;
        let resources = known.map(|known| known.listing.known_resources.clone()).unwrap_or_default();
        Ok(ResourcePage { resources, next: None })
    }

    pub(super) async fn read(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, Fault> {
        let own = self.own_address(uri)?;
        let _running = InFlightGuard::begin(self);
        let connection = self.connection().await?;
        let read = connection.read_resource(&own, context).await;
        let mut read = read.map_err(|failure| self.call_failed(&connection, failure))?;
        for part in &mut read {
            // Parts of a directory have URIs of their own.
            if let Some(exposed) = self.addresses.to_exposed(&part.uri) {
                part.uri = exposed;
            }
        }
        Ok(read)
    }

    /// Subscribes to a resource. `None` if the server does not report changes.
    pub(super) async fn follow(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, Fault> {
        let own = self.own_address(uri)?;
        let _running = InFlightGuard::begin(self);
        let connection = self.connection().await?;
        let followed = connection.follow_resource(&own).await;
        followed.map_err(|failure| self.call_failed(&connection, failure))
    }

    fn own_address(&self, uri: &str) -> Result<String, Fault> {
        let own = self.addresses.to_upstream(uri);
        own.ok_or_else(|| Fault::not_found(format!("resource not found: '{}'", quoted(uri, 256))))
    }

    pub(super) async fn messages(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Vec<PromptMessage>, Fault> {
        let _running = InFlightGuard::begin(self);
        let connection = self.connection().await?;
        let made = connection.get_prompt(name, arguments.clone(), context).await;
        let mut made = made.map_err(|failure| self.call_failed(&connection, failure))?;
        made.iter_mut().for_each(|message| self.addresses.map(&mut message.content));
        Ok(made)
    }

    /// Returns completions. The server does not know the template of the whole URI family.
    pub(super) async fn suggestions(&self, typed: &CompletionRequest) -> Result<Completions, Fault> {
        let mut typed = typed.clone();
        if let CompletionTarget::Template(template) = &mut typed.target {
            if *template == self.addresses.family(&self.definition.name).uri_template {
                return Ok(Completions::default());
            }
            *template = self.addresses.to_upstream(template).unwrap_or_default();
        }
        let _running = InFlightGuard::begin(self);
        let connection = self.connection().await?;
        connection.complete(typed).await.map_err(|failure| self.call_failed(&connection, failure))
    }
}
