//! Declarations of sources: tools, prompts, resources, and how they are checked, cleaned and shown.

pub mod completion;
pub mod conversion;
pub mod definition;
pub mod effect;
pub mod hidden_chars;
pub mod icon;
pub mod prompt;
pub mod resource;
pub mod signature;
pub mod skill;
pub mod tool;
