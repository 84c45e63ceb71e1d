//! Finding tools of servers: an index in memory, a [segment](ToolSegment) for each server, so that what one server lists
//! anew costs what that server has, and nothing of the others.
//!
//! A search goes over the tools that may be found and no others: how rare a word is, how long a tool usually is and
//! which words no tool has is counted among them alone, so that what is hidden leaves no trace in what is found.
//!
//! A score is a share of the best by words and of the best by meaning, of the whole request and of its best [part](asked),
//! names first. Whether a tool [fits](crate::page::Fit) at all is measured apart and in absolute terms: how near it is, and
//! what share of the words it holds that tell something.
//!
//! What a description repeats, and what it goes on to say at length, counts little: servers write for this search, too.

mod parts;
mod rank;
mod segment;
#[cfg(test)]
mod tests;
pub mod twins;
mod words;

pub use parts::query_parts;
pub use rank::{ToolMatch, ToolMatches, ToolQuery, ToolSearch, ToolSegments};
pub use segment::{IndexedTool, ToolSegment, embedded_tool};
