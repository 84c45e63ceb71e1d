//! Listings of servers that lack something: lists that ended early, items that were left out, and schemas that are checked
//! only in part.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Listing;
use crate::{json, prompt::MAX_PROMPTS, resource::MAX_TEMPLATES};

/// A list of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerList {
    Tools,
    Prompts,
    Resources,
    Templates,
    Skills,
}

impl Listing {
    /// Adds what an earlier listing has and an incomplete list of this one lacks, up to the limits of listings. Tools
    /// are not added: the index keeps them.
    pub fn keep_earlier(&mut self, earlier: Self) {
        let mut remaining = MAX_LISTING_BYTES;
        for list in self.incomplete.clone() {
            match list {
                ServerList::Tools => {}
                ServerList::Prompts => {
                    extend(&mut self.prompts, &earlier.prompts, MAX_PROMPTS, &mut remaining, |prompt| {
                        &prompt.name
                    });
                }
                ServerList::Resources => {
                    let (links, earlier_links) = (&mut self.known_resources, &earlier.known_resources);
                    extend(links, earlier_links, MAX_KNOWN_RESOURCES, &mut remaining, |link| &link.uri);
                }
                ServerList::Templates => {
                    let (templates, earlier_templates) = (&mut self.templates, &earlier.templates);
                    extend(templates, earlier_templates, MAX_TEMPLATES, &mut remaining, |template| {
                        &template.uri_template
                    });
                }
                ServerList::Skills => {
                    extend(&mut self.skills, &earlier.skills, MAX_SKILLS, &mut remaining, |skill| &skill.uri);
                }
            }
        }
    }
}

/// Appends the items whose key is new: up to `max` items in all, and at most `remaining` bytes of JSON.
fn extend<T: Clone + Serialize, K: PartialEq + ?Sized>(
    items: &mut Vec<T>,
    earlier: &[T],
    max: usize,
    remaining: &mut usize,
    key: impl Fn(&T) -> &K,
) {
    for other in earlier {
        let is_new = items.len() < max && items.iter().all(|item| key(item) != key(other));
        if is_new && let Some(rest) = remaining.checked_sub(json::encoded_len(other)) {
            *remaining = rest;
            items.push(other.clone());
        }
    }
}

/// Parts of a listing that do not get through as they are: items that were left out, and schemas that are passed on but
/// checked only in part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedItems {
    pub count: usize,
    /// Each names its items.
    pub reasons: Vec<String>,
    /// Number of tools whose schemas have parts that are not checked.
    #[serde(default)]
    pub unchecked: usize,
    #[serde(default)]
    pub unchecked_reasons: Vec<String>,
}

/// Maximum bytes of all lists of a server.
pub const MAX_LISTING_BYTES: usize = 4 << 20;

/// Maximum resources that a listing remembers.
pub const MAX_KNOWN_RESOURCES: usize = 1_000;

/// Maximum skills of a server.
pub const MAX_SKILLS: usize = 1_000;

/// Maximum stored reasons, because a server can list thousands of invalid tools.
const MAX_OMISSION_REASONS: usize = 8;

impl OmittedItems {
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.unchecked == 0
    }

    /// Returns a line for agents, unless nothing was left out. The reasons quote the server and name tools that a preset
    /// may hide, so they are for operators.
    pub fn summary(&self) -> Option<String> {
        let summary = || format!("left out {}; `gatehouse servers status` says why", self.counted());
        (self.count > 0).then(summary)
    }

    fn counted(&self) -> String {
        format!("{} {}", self.count, if self.count == 1 { "item" } else { "items" })
    }

    /// Adds `count` items with one reason.
    pub fn add(&mut self, count: usize, reason: impl Into<String>) {
        self.count += count;
        add_reason(&mut self.reasons, reason.into());
    }

    /// Adds a tool with the reason that a schema of it is checked only in part.
    pub fn add_unchecked(&mut self, reason: String) {
        self.unchecked += 1;
        add_reason(&mut self.unchecked_reasons, reason);
    }

    pub fn all_reasons_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.reasons.iter_mut().chain(&mut self.unchecked_reasons)
    }
}

fn add_reason(reasons: &mut Vec<String>, reason: String) {
    match reasons.len() {
        0..MAX_OMISSION_REASONS => reasons.push(reason),
        MAX_OMISSION_REASONS => reasons.push("and others".into()),
        _ => {}
    }
}

impl fmt::Display for OmittedItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 0 {
            write!(f, "left out {}: {}", self.counted(), self.reasons.join("; "))?;
        }
        if self.unchecked > 0 {
            let separator = if self.count > 0 { "; " } else { "" };
            let (count, reasons) = (self.unchecked, self.unchecked_reasons.join("; "));
            let tools = if count == 1 { "tool" } else { "tools" };
            write!(f, "{separator}checks the arguments of {count} {tools} only in part: {reasons}")?;
        }
        Ok(())
    }
}
