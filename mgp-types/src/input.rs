//! The questions and answers of a request whose caller gets its questions in results, not in requests.

use parking_lot::Mutex;

use crate::json::{Object, ObjectWriter, RawJson};
use crate::{Error, Method, Response};

/// The questions and answers of one request whose caller cannot be asked directly.
///
/// The handler of such a request runs once per round. The exchange holds the answers of all rounds so far, and notes
/// each question without an answer, to be sent to the caller as the result of this round.
#[derive(Debug, Default)]
pub struct InputExchange {
    answers: Object,
    questions: Mutex<Vec<InputQuestion>>,
}

/// One question for the caller.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InputQuestion {
    /// The name under which the answer comes back.
    pub key: Box<str>,
    /// The method of the question: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Method,
    /// The parameters of the method.
    pub params: Object,
}

impl InputExchange {
    /// Creates an exchange that holds `answers`, by key.
    pub fn new(answers: Object) -> Self {
        Self { answers, questions: Mutex::default() }
    }

    /// Returns the answer to the question called `key`, or notes the question.
    ///
    /// # Errors
    /// [`Origin::InputRequired`](crate::Origin::InputRequired) if the answer is still to come.
    pub fn answer_or_ask(&self, key: &str, method: Method, params: Object) -> Result<RawJson, Error> {
        match self.answers.get(key) {
            Some(answer) if answer.is_object() => Ok(answer),
            _ => {
                let mut questions = self.questions.lock();
                if !questions.iter().any(|question| &*question.key == key) {
                    questions.push(InputQuestion { key: key.into(), method, params });
                }
                Err(Error::input_required())
            }
        }
    }

    /// Returns the answers of all rounds so far.
    pub fn answers(&self) -> &Object {
        &self.answers
    }

    /// Removes the questions noted in this round and returns them.
    pub fn take_questions(&self) -> Vec<InputQuestion> {
        std::mem::take(&mut *self.questions.lock())
    }
}

impl InputQuestion {
    /// Creates a question whose answer comes back under the name `key`.
    pub fn new(key: impl Into<Box<str>>, method: Method, params: Object) -> Self {
        Self { key: key.into(), method, params }
    }

    /// Returns the result that asks `questions`, whose keys differ, to be answered with `state`.
    ///
    /// # Errors
    /// A question is nested too deeply for a result around it.
    pub fn result(questions: &[Self], state: &str) -> Result<Response, Error> {
        let (mut result, mut requests) = (ObjectWriter::new(), ObjectWriter::new());
        for Self { key, method, params } in questions {
            let mut request = ObjectWriter::new();
            request.text("method", method.as_str());
            request.json("params", &params.to_raw());
            requests.json(key, &request.finish().to_raw());
        }
        result.text("resultType", "input_required");
        result.json("inputRequests", &requests.finish().to_raw());
        result.text("requestState", state);
        Ok(Response::new(RawJson::parse(result.finish().to_raw().to_bytes())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    #[test]
    fn a_question_is_noted_until_its_answer_has_come() {
        let ask = |exchange: &InputExchange| exchange.answer_or_ask("name", Method::ELICIT, Object::new());
        let exchange = InputExchange::default();
        assert_eq!(ask(&exchange).unwrap_err().origin(), Origin::InputRequired);
        assert!(ask(&exchange).is_err());
        assert_eq!(exchange.take_questions().len(), 1);

        let exchange = InputExchange::new(Object::parse(r#"{"name":{"action":"accept"}}"#).unwrap());
        assert_eq!(ask(&exchange).unwrap().as_bytes(), br#"{"action":"accept"}"#);
        assert!(exchange.take_questions().is_empty());
    }

    #[test]
    fn an_answer_that_is_no_object_is_asked_for_again() {
        let exchange = InputExchange::new(Object::parse(r#"{"name":5}"#).unwrap());
        assert!(exchange.answer_or_ask("name", Method::ELICIT, Object::new()).is_err());
        assert_eq!(exchange.take_questions().len(), 1);
    }
}
