//! Search over the tools of servers: an in-memory index with one [segment](ToolSegment) per server, which is rebuilt if
//! the server changes its list.
//!
//! Term statistics cover only the tools that the caller may see, so hidden tools do not affect the results.
//!
//! A score combines the relative word and vector scores of the whole request and its best [part](query_parts). [Match
//! quality](crate::page::MatchQuality) is absolute. Repetition and long descriptions have limited weight, because
//! servers may write descriptions to rank higher.

mod evidence;
mod lexicon;
mod parts;
mod rank;
mod segment;
#[cfg(test)]
mod tests;
pub mod twins;
mod verbs;
mod words;

pub use evidence::{MEASURES, MatchEvidence, VerdictWeights};
pub use parts::{QueryPart, QueryPartKind, query_parts};
pub use rank::{ToolMatch, ToolMatches, ToolQuery, ToolSearch, ToolSegments};
pub use segment::{IndexedTool, ToolSegment, embedded_tool};
