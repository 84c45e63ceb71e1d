//! Questions of a task that its client has not answered yet.

use rmcp::model::{InputRequest, InputRequests, InputResponses};
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

    /// Returns the questions to answer.
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
        let is_answered = |group: &mut InputGroup| group.questions.iter().all(|one| one.answer.is_some());
        for group in self.groups.extract_if(.., is_answered) {
            let answers = group.questions.into_iter().filter_map(|question| question.answer).collect();
            // If this fails, the call is about to end.
            let _ = group.answer.send(answers);
        }
        matched
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
