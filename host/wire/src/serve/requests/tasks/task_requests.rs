//! Requests about tasks: their state, answers to their questions, and cancelling.

use std::sync::Arc;

use gatehouse_core::{Catalog, lock};
use rmcp::{
    ErrorData, RoleServer,
    model::{CancelTaskParams, GetTaskParams, GetTaskResult, UpdateTaskParams},
    service::RequestContext,
};

use super::{now, terms::can_begin_tasks};
use crate::serve::{handler::Handler, requests::paused_calls::CallOwner};

impl Handler {
    /// Whether `tasks/*` must work: the preset can begin tasks, or some have begun.
    pub(crate) fn has_tasks(&self, catalog: &Catalog) -> bool {
        can_begin_tasks(catalog) || !self.presets.tasks.is_empty()
    }

    fn task_owner(&self, context: &RequestContext<RoleServer>) -> CallOwner {
        let caller = self.caller_of(&context.extensions);
        let preset = Arc::clone(&self.served.catalog(&caller).preset);
        self.owner(&caller, preset)
    }

    pub(crate) fn task(
        &self,
        request: &GetTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        Ok(GetTaskResult::new(task.shown(&request.task_id)))
    }

    /// Passes answers to the questions of a task. Keys without a question are ignored.
    pub(crate) fn answer_task(
        &self,
        request: UpdateTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        let mut state = lock(&task.state);
        if state.inputs.answer(request.input_responses) {
            state.updated = now();
        }
        Ok(())
    }

    /// Cancels a task that still runs.
    pub(crate) fn stop_task(
        &self,
        request: &CancelTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        lock(&task.state).cancel();
        Ok(())
    }
}
