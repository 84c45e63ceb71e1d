//! State of a task that is kept for its client: questions without an answer, and its end.

use rmcp::{
    ErrorData,
    model::{InputRequest, InputRequests, InputResponses, ServerResult, TaskPayload, TaskStatus},
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::serve::elicitation::PendingInput;

/// The questions of a task. Keys are unique during the whole task, unlike those of its calls.
#[derive(Default)]
pub(super) struct OpenInputs {
    groups: Vec<InputGroup>,
    asked: u64,
}

/// Questions that a call asked at once, and waits for together.
struct InputGroup {
    questions: Vec<InputQuestion>,
    answer: oneshot::Sender<Vec<Map<String, Value>>>,
}

struct InputQuestion {
    key: String,
    request: InputRequest,
    answer: Option<Map<String, Value>>,
}

impl OpenInputs {
    pub(super) fn add(&mut self, input: PendingInput) {
        let questions = input.requests.into_values().map(|request| {
            self.asked += 1;
            InputQuestion { key: self.asked.to_string(), request, answer: None }
        });
        let questions = questions.collect();
        self.groups.push(InputGroup { questions, answer: input.answer });
    }

    pub(super) fn open(&mut self) -> InputRequests {
        // A call may stop waiting, for example because the user took too long.
        self.groups.retain(|group| !group.answer.is_closed());
        let questions = self.groups.iter().flat_map(|group| &group.questions);
        let open = questions.filter(|question| question.answer.is_none());
        open.map(|question| (question.key.clone(), question.request.clone())).collect()
    }

    /// Takes answers by key. A call gets its answers once all of its questions have one. Returns false if no key matches.
    pub(super) fn answer(&mut self, mut answers: InputResponses) -> bool {
        let mut matched = false;
        for question in self.groups.iter_mut().flat_map(|group| &mut group.questions) {
            if let (None, Some(Value::Object(answer))) = (&question.answer, answers.remove(&question.key)) {
                question.answer = Some(answer);
                matched = true;
            }
        }
        let is_answered =
            |group: &mut InputGroup| group.questions.iter().all(|question| question.answer.is_some());
        for group in self.groups.extract_if(.., is_answered) {
            let answers = group.questions.into_iter().filter_map(|question| question.answer).collect();
            // If this fails, the call is about to end.
            let _ = group.answer.send(answers);
        }
        matched
    }
}

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
        let reason = "the result of the task is too large to keep with the results of other tasks; fetch those, or request \
            less data";
        Self::new(TaskStatus::Failed, &ErrorData::internal_error(reason, None))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(inputs: &mut OpenInputs, count: usize) -> oneshot::Receiver<Vec<Map<String, Value>>> {
        let request: InputRequest =
            serde_json::from_value(json!({"method": "roots/list"})).expect("a request");
        let requests = (1..=count).map(|number| (number.to_string(), request.clone())).collect();
        let (answer, answered) = oneshot::channel();
        inputs.add(PendingInput { requests, answer });
        answered
    }

    fn keys(inputs: &mut OpenInputs) -> Vec<String> {
        inputs.open().into_keys().collect()
    }

    #[test]
    fn calls_get_their_answers_once_they_are_complete_and_keys_are_never_reused() {
        let mut inputs = OpenInputs::default();
        let (mut pair, mut single) = (ask(&mut inputs, 2), ask(&mut inputs, 1));
        assert_eq!(keys(&mut inputs), ["1", "2", "3"]);
        let answer = |key: &str, value: Value| InputResponses::from_iter([(key.to_owned(), value)]);
        assert!(!inputs.answer(answer("7", json!({}))) && !inputs.answer(answer("2", json!("text"))));
        assert!(inputs.answer(answer("2", json!({"n": 2}))));
        assert!(!inputs.answer(answer("2", json!({"n": 9}))), "the first answer counts");
        assert!(pair.try_recv().is_err());
        assert_eq!(keys(&mut inputs), ["1", "3"]);
        let rest = InputResponses::from_iter([("1".into(), json!({"n": 1})), ("3".into(), json!({"n": 3}))]);
        assert!(inputs.answer(rest));
        assert_eq!(json!(pair.try_recv().expect("answers")), json!([{"n": 1}, {"n": 2}]));
        assert_eq!(json!(single.try_recv().expect("answers")), json!([{"n": 3}]));
        let gone = ask(&mut inputs, 1);
        assert_eq!(keys(&mut inputs), ["4"]);
        drop(gone);
        assert!(keys(&mut inputs).is_empty());
    }
}
