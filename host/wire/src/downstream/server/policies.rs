//! The listing of a server as clients see it: with the tool policies of presets.toml, and readable addresses of
//! interfaces.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_core::{
    ToolSpec, lock, names::did_you_mean, outcome::ResourceLink, source::Listing, tool_policy::ToolPolicy,
};

use super::DownstreamServer;

impl DownstreamServer {
    /// Applies the policies to a listing and maps the addresses of interfaces. Policies that do not apply are logged once
    /// per listing.
    ///
    /// Catalogs identify a tool by its `Arc`, so the same listing yields the same tools.
    pub(super) fn described(&self, listed: Arc<Listing>) -> Arc<Listing> {
        let mut last = lock(&self.described);
        if let Some((_, described)) =
            last.as_ref().filter(|(cached_listing, _)| Arc::ptr_eq(cached_listing, &listed))
        {
            return Arc::clone(described);
        }
        let described = self.describe(&listed).map_or_else(|| Arc::clone(&listed), Arc::new);
        *last = Some((listed, Arc::clone(&described)));
        described
    }

    /// Returns the listing with changes. `None` if there are none to make.
    fn describe(&self, listed: &Listing) -> Option<Listing> {
        let (uris, policies) = (&self.uris, &self.definition.tools);
        let is_app = |link: &ResourceLink| uris.app_family.matches(&link.uri);
        let has_apps = listed.known_resources.iter().any(is_app)
            || listed.tools.iter().any(|tool| !Arc::ptr_eq(tool, &uris.map_tool(tool)));
        let has_skills = !listed.skills.is_empty();
        if policies.is_empty() && !has_apps && !has_skills {
            return None;
        }
        let mut problems = unlisted(policies, listed);
        let mut described = listed.clone();
        for tool in &mut described.tools {
            if let Some(policy) = policies.get(&*tool.name) {
                *tool = Arc::new(policy.apply(tool, &mut problems));
            }
            *tool = uris.map_tool(tool);
        }
        if described.resources && has_apps {
            described.templates.push(uris.app_family.clone());
        }
        if described.resources && has_skills {
            described.templates.push(uris.skill_family.clone());
        }
        for problem in problems {
            tracing::warn!(source = %self.id, "[servers.{}.tools]: {problem}", self.definition.name);
        }
        Some(described)
    }

    pub(in crate::downstream) fn described_tool(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let spec = self.uris.map_tool(spec);
        match self.definition.tools.get(&*spec.name) {
            Some(policy) => Arc::new(policy.apply(&spec, &mut Vec::new())),
            None => spec,
        }
    }
}

/// Returns a problem for each configured tool or precheck that the server does not list.
fn unlisted(policies: &BTreeMap<String, ToolPolicy>, listed: &Listing) -> Vec<String> {
    let names = || listed.tools.iter().map(|tool| &*tool.name);
    let missing = |name: &str| {
        (!names().any(|listed_name| listed_name == name))
            .then(|| format!("the server lists no tool '{name}'.{}", did_you_mean(name, names())))
    };
    let checks = policies.values().filter_map(|policy| policy.precheck.as_deref());
    policies.keys().map(String::as_str).chain(checks).filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{Effect, ports::servers::ServerDefinition};
    use serde_json::json;

    use super::{super::tests::server, *};

    fn listing() -> Arc<Listing> {
        let tool = json!({
            "name": "find", "title": null, "description": "", "input_schema": {"type": "object"}, "output_schema": null,
            "intent": "execute", "effect": "external-exec", "idempotent": false, "open_world": true, "dry_run": null,
            "meta": null,
        });
        let tool = Arc::new(serde_json::from_value(tool).expect("a tool"));
        Arc::new(Listing { tools: vec![tool], ..Listing::default() })
    }

    #[tokio::test]
    async fn the_same_listing_gives_the_same_tools() {
        let policy = ToolPolicy { effect: Some(Effect::ReadOnly), ..ToolPolicy::default() };
        let tools = BTreeMap::from([("find".to_owned(), policy)]);
        let ((untouched, _), listed) = (server(), listing());
        let definition = ServerDefinition { tools, ..untouched.definition.clone() };
        let server = DownstreamServer::new(definition, Arc::clone(&untouched.shared));
        let one = server.described(Arc::clone(&listed));
        let other = server.described(Arc::clone(&listed));
        assert!(Arc::ptr_eq(&one.tools[0], &other.tools[0]));
        assert_eq!((one.tools[0].effect, listed.tools[0].effect), (Effect::ReadOnly, Effect::ExternalExec));
        assert!(Arc::ptr_eq(&untouched.described(Arc::clone(&listed)), &listed));
    }

    #[test]
    fn names_that_the_server_does_not_list_are_reported() {
        let policy = ToolPolicy { precheck: Some("look".into()), ..ToolPolicy::default() };
        let policies = BTreeMap::from([("fnd".to_owned(), policy)]);
        let problems = unlisted(&policies, &listing());
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("no tool 'fnd'. Did you mean 'find'?"), "{problems:?}");
    }
}
