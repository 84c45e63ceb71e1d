//! The end of a task.

use rmcp::{
    ErrorData,
    model::{ServerResult, TaskPayload, TaskStatus},
};
use serde::Serialize;

/// The end of a task, as text: it may be kept for long, and values take much more memory.
pub(super) struct TaskEnd {
    status: TaskStatus,
    /// Result or error.
    pub(super) json: String,
}

impl TaskEnd {
    fn new(status: TaskStatus, object: &impl Serialize) -> Self {
        Self { status, json: serde_json::to_string(object).unwrap_or_default() }
    }

    pub(super) fn too_large() -> Self {
        let why = "the result of the task is too large to keep with the results of other tasks; fetch those, or request \
            less data";
        Self::new(TaskStatus::Failed, &ErrorData::internal_error(why, None))
    }

    pub(super) fn payload(&self) -> TaskPayload {
        let object = || serde_json::from_str(&self.json).unwrap_or_default();
        match self.status {
            TaskStatus::Completed => TaskPayload::Completed { result: object() },
            TaskStatus::Failed => TaskPayload::Failed { error: object() },
            _ => TaskPayload::Cancelled,
        }
    }

    /// Returns the end of a task. Errors of the tool are results; errors of the protocol make the task fail.
    pub(super) fn from_result(result: Result<ServerResult, ErrorData>, was_cancelled: bool) -> Self {
        match result {
            Ok(ServerResult::CallToolResult(result)) if was_cancelled && result.is_error == Some(true) => {
                Self::new(TaskStatus::Cancelled, &())
            }
            Ok(result) => Self::new(TaskStatus::Completed, &result),
            Err(_) if was_cancelled => Self::new(TaskStatus::Cancelled, &()),
            Err(error) => Self::new(TaskStatus::Failed, &error),
        }
    }
}
