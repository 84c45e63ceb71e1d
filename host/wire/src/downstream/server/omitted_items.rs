//! Items of a server's listing that clients do not get: invalid ones, and those whose names clients could not tell apart.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};

use gatehouse_core::{
    SourceId,
    names::quoted,
    source::{Listing, unreadable_part},
    tool::{ExposedName, MAX_NAME_CHARS, ToolSpec},
};

/// Names that clients see for the items of a server, with the server's own.
pub(super) struct UniqueNames<'a> {
    source: &'a SourceId,
    used: HashMap<ExposedName, Arc<str>>,
}

impl<'a> UniqueNames<'a> {
    pub(super) fn new(source: &'a SourceId) -> Self {
        Self { source, used: HashMap::new() }
    }

    /// Adds a name. Fails if clients could not tell its item from an earlier one, which would make the preset fail:
    /// a server can list a name that equals a shortened one.
    pub(super) fn add(&mut self, kind: &str, name: &str) -> Result<(), String> {
        let Ok(exposed) = self.source.exposed_name(name) else { return Ok(()) };
        let quoted_name = quoted(name, MAX_NAME_CHARS);
        match self.used.entry(exposed) {
            Entry::Vacant(free) => {
                free.insert(name.into());
                Ok(())
            }
            Entry::Occupied(used) if **used.get() == *name => {
                Err(format!("{kind} '{quoted_name}' is listed twice"))
            }
            Entry::Occupied(used) => Err(format!(
                "{kind} '{quoted_name}' would have the name '{}', like '{}'",
                used.key(),
                quoted(used.get(), MAX_NAME_CHARS)
            )),
        }
    }
}

/// Removes tools that clients cannot be shown.
pub(super) fn drop_invalid_tools(source: &SourceId, listing: &mut Listing) {
    // Without the other parts, which would be copied for each tool.
    let alone = Listing {
        name: listing.name.clone(),
        params_schema: Arc::clone(&listing.params_schema),
        ..Listing::default()
    };
    let mut names = UniqueNames::new(source);
    let omitted = &mut listing.omitted;
    for tool in std::mem::take(&mut listing.tools) {
        let check = |tool: &Arc<_>| {
            let tool_listing = Listing { tools: vec![Arc::clone(tool)], ..alone.clone() };
            tool_listing.check_server().map_err(|reason| reason.to_string())
        };
        let checked = match check(&tool) {
            Ok(()) => Ok((tool, None)),
            Err(error) => {
                // The tool works without its output schema.
                let plain = Arc::new(ToolSpec { output_schema: None, ..ToolSpec::clone(&tool) });
                let reason = format!("only the output schema of {error}");
                check(&plain).map_err(|_| error).map(|()| (plain, Some(reason)))
            }
        };
        match checked.and_then(|(tool, reason)| names.add("tool", &tool.name).map(|()| (tool, reason))) {
            Ok((tool, reason)) => {
                if let Some(reason) = reason {
                    omitted.add(1, reason);
                }
                if let Some(reason) = unreadable_part(&tool) {
                    omitted.add_unchecked(reason);
                }
                listing.tools.push(tool);
            }
            Err(reason) => omitted.add(1, reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(names: impl IntoIterator<Item = String>) -> Listing {
        let tool = |name: String| {
            json!({"name": name, "title": null, "description": "", "input_schema": {"type": "object"},
                "output_schema": null, "intent": "query", "effect": "read-only", "idempotent": true,
                "open_world": false, "dry_run": null, "meta": null})
        };
        let tools = names.into_iter().map(|name| serde_json::from_value(tool(name)).expect("a tool"));
        let mut listing = Listing { tools: tools.collect(), ..Listing::default() };
        drop_invalid_tools(&SourceId::Server("s".into()), &mut listing);
        listing
    }

    fn names(listing: &Listing) -> Vec<&str> {
        listing.tools.iter().map(|tool| &*tool.name).collect()
    }

    #[test]
    fn names_of_up_to_128_characters_are_kept() {
        let listing = listed([64, 65, 128, 129].map(|length| "x".repeat(length)));
        assert_eq!(names(&listing), [64, 65, 128].map(|length| "x".repeat(length)));
        let expected = format!(
            "left out 1 item: tool name '{}…' has 129 characters; a name has 1 to 128",
            "x".repeat(64)
        );
        assert_eq!(listing.omitted.to_string(), expected);
        // 128 characters of 2 bytes each.
        let listing = listed(["ü".repeat(128), "fine".into()]);
        assert_eq!(listing.tools.len(), 2);
    }

    #[test]
    fn a_name_that_equals_a_shortened_one_is_left_out() {
        let server = SourceId::Server("s".into());
        let long = "y".repeat(100);
        let shown = server.exposed_name(&long).expect("a name").to_string();
        let twin = shown.strip_prefix("s__").expect("a prefix").to_owned();
        assert_eq!(server.exposed_name(&twin).expect("a name").to_string(), shown);
        let listing = listed([long.clone(), twin.clone(), "fine".into()]);
        assert_eq!(names(&listing), [&long, "fine"]);
        let expected = format!("tool '{twin}' would have the name '{shown}', like '{}…'", "y".repeat(64));
        assert_eq!(listing.omitted.reasons, [expected]);
    }

    #[test]
    fn only_the_output_schema_of_a_tool_is_left_out_if_it_is_too_long() {
        let mut tool = ToolSpec::clone(&listed(["large".to_owned()]).tools[0]);
        let schema = json!({"type": "object", "description": "x".repeat(70_000)});
        tool.output_schema = Some(Arc::new(schema.as_object().expect("a schema").clone()));
        let mut listing = Listing { tools: vec![Arc::new(tool)], ..Listing::default() };
        drop_invalid_tools(&SourceId::Server("s".into()), &mut listing);
        assert_eq!((names(&listing), &listing.tools[0].output_schema), (vec!["large"], &None));
        let expected = "left out 1 item: only the output schema of tool 'large': its output schema is longer than 65536 bytes";
        assert_eq!(listing.omitted.to_string(), expected);
    }

    #[test]
    fn a_server_may_list_many_tools_with_any_names() {
        let names = (0..604).map(|number| format!("t{number}"));
        let odd = ["repo/list", "Create CIFS Share", "查询天气", "coding.start", "größe", "list()"];
        let listing = listed(names.chain(odd.map(str::to_owned)));
        assert_eq!((listing.tools.len(), listing.omitted.count), (610, 0), "{}", listing.omitted);
        let listing = listed(["a\nb", "a\u{202e}b", ""].map(str::to_owned));
        assert_eq!((listing.tools.len(), listing.omitted.count), (0, 3));
        assert!(listing.omitted.to_string().contains("'a b' has hidden characters"), "{}", listing.omitted);
    }

    #[test]
    fn schemas_that_cannot_be_checked_are_passed_on() {
        let mut tool = ToolSpec::clone(&listed(["email".to_owned()]).tools[0]);
        let schema = json!({"type": "object", "properties": {"to": {"pattern": "^(?!\\.).+$"}}});
        tool.input_schema = Arc::new(schema.as_object().expect("a schema").clone());
        let mut listing = Listing { tools: vec![Arc::new(tool)], ..Listing::default() };
        drop_invalid_tools(&SourceId::Server("s".into()), &mut listing);
        assert_eq!(json!(*listing.tools[0].input_schema), schema);
        assert_eq!((listing.omitted.count, listing.omitted.unchecked), (0, 1));
        let shown = listing.omitted.to_string();
        assert!(shown.starts_with("checks the arguments of 1 tool only in part: tool 'email'"), "{shown}");
        assert!(
            shown.ends_with("uses look-around or back-references (at 'properties.to.pattern')"),
            "{shown}"
        );
    }

    #[test]
    fn reasons_are_bounded() {
        let listing = listed((0..2_000).map(|number| format!("hidden\u{200b} {number}")));
        assert_eq!((listing.omitted.count, listing.omitted.reasons.len()), (2_000, 9));
        assert!(listing.omitted.to_string().ends_with("; and others"));
    }
}
