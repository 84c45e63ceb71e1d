//! Lists that clients cache and are notified about: tools, prompts and resources.

pub(crate) mod clients;
pub(crate) mod subscriptions;

use gatehouse_core::{Catalog, surface::ToolSurface};
use rmcp::{
    RoleServer,
    model::{ServerCapabilities, ServerJsonRpcMessage, ServerNotification},
    service::{Peer, SubscriptionSink},
};

use crate::serve::requests::{
    reply::{self, StructuredMode},
    resources_and_prompts::{prompt_list, resource_templates},
    skill_requests::declare_skills,
};

/// Known methods that rmcp passes on as custom requests if their parameters are invalid, each with the list that the
/// preset must have, and true if clients since 2026-07-28 no longer have the method.
const METHODS: [(&str, ListKind, bool); 20] = [
    ("initialize", ListKind::Tools, true),
    ("logging/setLevel", ListKind::Tools, true),
    ("ping", ListKind::Tools, true),
    ("prompts/get", ListKind::Prompts, false),
    ("prompts/list", ListKind::Prompts, false),
    ("resources/directory/read", ListKind::Resources, false),
    ("resources/list", ListKind::Resources, false),
    ("resources/read", ListKind::Resources, false),
    ("resources/subscribe", ListKind::Resources, true),
    ("resources/templates/list", ListKind::Resources, false),
    ("resources/unsubscribe", ListKind::Resources, true),
    ("server/discover", ListKind::Tools, false),
    ("skills/get", ListKind::Resources, false),
    ("skills/list", ListKind::Resources, false),
    ("subscriptions/listen", ListKind::Tools, false),
    ("tasks/cancel", ListKind::Tools, false),
    ("tasks/get", ListKind::Tools, false),
    ("tasks/update", ListKind::Tools, false),
    ("tools/call", ListKind::Tools, false),
    ("tools/list", ListKind::Tools, false),
];

/// True if the preset may offer completions. Servers that have not listed anything yet count.
pub(crate) fn may_complete(catalog: &Catalog) -> bool {
    catalog.has_completions() || catalog.awaits_listings()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
}

impl ListKind {
    pub(crate) const ALL: [Self; 3] = [Self::Tools, Self::Prompts, Self::Resources];

    /// Returns the capabilities to declare for this catalog.
    pub(crate) fn capabilities(catalog: &Catalog) -> ServerCapabilities {
        let mut capabilities = Self::all_capabilities();
        capabilities.prompts = capabilities.prompts.filter(|_| Self::Prompts.exists_in(catalog));
        capabilities.completions = capabilities.completions.filter(|_| may_complete(catalog));
        capabilities.resources = capabilities.resources.filter(|_| Self::Resources.exists_in(catalog));
        capabilities
    }

    /// Returns the capabilities that any preset can have. Clients before 2026-07-28 need `logging` to request log
    /// messages.
    #[allow(deprecated)]
    pub(crate) fn all_capabilities() -> ServerCapabilities {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_logging()
            .enable_completions()
            .enable_tasks()
            .build();
        declare_skills(&mut capabilities);
        capabilities
    }

    /// True if a client may call this method.
    pub(crate) fn is_known(method: &str, catalog: &Catalog, since_2026: bool) -> bool {
        if method == "completion/complete" {
            return may_complete(catalog);
        }
        let entry = METHODS.iter().find(|(name, ..)| *name == method);
        entry.is_some_and(|(_, list, removed)| list.exists_in(catalog) && !(since_2026 && *removed))
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
        }
    }

    /// True if the preset has this list. Every preset has tools, possibly none. Servers that have not listed anything
    /// yet count as having all lists.
    pub(crate) fn exists_in(self, catalog: &Catalog) -> bool {
        let is_offered = match self {
            Self::Tools => true,
            Self::Prompts => !catalog.resources_and_prompts.prompts().is_empty(),
            Self::Resources => catalog.resources_and_prompts.has_resources(),
        };
        is_offered || catalog.awaits_listings()
    }

    /// Serializes the list to detect changes. Gates list their resources on each request, so this covers their templates;
    /// servers report changes, and are listed again.
    pub(crate) fn bytes(self, catalog: &Catalog) -> Vec<u8> {
        let listed = match self {
            Self::Tools => {
                let data = StructuredMode::for_programs(catalog);
                let surfaces = ToolSurface::used_in(catalog).iter();
                let lists = surfaces.map(|surface| reply::tools_with(catalog, data, *surface, true, None));
                serde_json::to_vec(&lists.collect::<Vec<_>>())
            }
            Self::Prompts => serde_json::to_vec(&prompt_list(catalog)),
            Self::Resources => {
                let sources = catalog.resources_and_prompts.resource_sources().iter();
                let entries = sources
                    .map(|source| (source.source.id(), &source.params, &source.listing.known_resources));
                let sources: Vec<_> = entries.collect();
                let skills: Vec<_> = catalog.resources_and_prompts.skills().collect();
                serde_json::to_vec(&(sources, resource_templates(catalog), skills))
            }
        };
        listed.unwrap_or_default()
    }

    /// Notifies a client with a session. Returns false on failure.
    pub(crate) async fn notify(self, peer: &Peer<RoleServer>) -> bool {
        let sent = match self {
            Self::Tools => peer.notify_tool_list_changed().await,
            Self::Prompts => peer.notify_prompt_list_changed().await,
            Self::Resources => peer.notify_resource_list_changed().await,
        };
        sent.is_ok()
    }

    /// Notifies a subscriber if it requested this list. Returns false if the client is gone.
    pub(crate) async fn notify_subscriber(self, sink: &SubscriptionSink) -> bool {
        let filter = sink.accepted();
        let is_accepted = match self {
            Self::Tools => filter.tools_list_changed,
            Self::Prompts => filter.prompts_list_changed,
            Self::Resources => filter.resources_list_changed,
        };
        if is_accepted != Some(true) {
            return true;
        }
        let sent = match self {
            Self::Tools => sink.notify_tool_list_changed().await,
            Self::Prompts => sink.notify_prompt_list_changed().await,
            Self::Resources => sink.notify_resource_list_changed().await,
        };
        sent.is_ok()
    }

    pub(crate) fn in_message(message: &ServerJsonRpcMessage) -> Option<Self> {
        let ServerJsonRpcMessage::Notification(notification) = message else { return None };
        match &notification.notification {
            ServerNotification::ToolListChangedNotification(_) => Some(Self::Tools),
            ServerNotification::PromptListChangedNotification(_) => Some(Self::Prompts),
            ServerNotification::ResourceListChangedNotification(_) => Some(Self::Resources),
            _ => None,
        }
    }
}
