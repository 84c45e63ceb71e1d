//! Requests of clients: tool calls, prompts and resources, their conversion to and from MCP, and calls that wait for
//! input or go on as tasks.

pub(crate) mod interactive_request;
pub(crate) mod notifications;
pub(crate) mod paused_calls;
pub(crate) mod reply;
pub(crate) mod resource_requests;
pub(crate) mod resources_and_prompts;
pub(crate) mod skill_requests;
pub(crate) mod tasks;
