//! Tests of rules by which calls are sent again.

use mgp_types::{Error, Method, RawJson, Request, Response, code};
use tower_service::Service;

use super::script::*;
use crate::era::{NextStep, ResendRule};

/// Marks each request of a call with a number, and sends it again while the server answers `marker`.
#[derive(Clone)]
struct Again {
    marker: i64,
    times: usize,
}

impl ResendRule for Again {
    type State = usize;

    fn begin(&self, request: &Request) -> Result<Option<usize>, Error> {
        if request.params.contains("refused") {
            return Err(Error::invalid_params("not sent"));
        }
        Ok((request.method == Method::TOOLS_CALL).then_some(0))
    }

    fn write(&self, sent: &mut usize, request: &mut Request) {
        let seen = request.params.text("mark").unwrap_or_default();
        let mark = RawJson::from_value(&format!("{seen}{}.{sent} ", self.marker)).unwrap();
        request.params.set("mark", mark);
    }

    fn judge(&self, sent: &mut usize, call: &Request, outcome: Result<Response, Error>) -> NextStep {
        match outcome {
            Err(error) if error.code() == self.marker && *sent < self.times => {
                *sent += 1;
                let call = call.clone();
                NextStep::SendAgain(Box::pin(async { Ok(call) }))
            }
            outcome => NextStep::Return(outcome),
        }
    }
}

/// Returns a server that answers calls of tools with these, the last one for ever.
fn answering(answers: Vec<fn() -> Reply>) -> Script {
    let mut answers = answers.into_iter().peekable();
    let mut last: fn() -> Reply = || Reply::Result("{}");
    Script::new(move |request| {
        if request.method != Method::TOOLS_CALL {
            return session_server(request);
        }
        if let Some(next) = answers.next() {
            last = next;
        }
        last()
    })
}

fn marks(script: &Script) -> Vec<String> {
    (0..script.methods().len())
        .filter_map(|index| Some(script.request(index).params.text("mark")?.trim_end().to_owned()))
        .collect()
}

#[tokio::test]
async fn each_rule_has_its_say_and_writes_every_request_of_a_call() {
    let script = answering(vec![|| refuse(-1), || refuse(-2), lost, || refuse(-2), || Reply::Result("{}")]);
    let era = script.connect_http().await.unwrap();
    let mut era = era.with_rules((Again { marker: -1, times: 1 }, Again { marker: -2, times: 2 }));
    era.call(call(Method::TOOLS_CALL)).await.unwrap();
    assert_eq!(marks(&script), ["-2.0 -1.0", "-2.0 -1.1", "-2.1 -1.1", "-2.1 -1.1", "-2.2 -1.1"]);
    assert_eq!(script.methods().iter().filter(|method| *method == "initialize").count(), 2);
}

#[tokio::test]
async fn a_rule_that_has_had_enough_leaves_the_outcome_as_it_is() {
    let script = answering(vec![|| refuse(-1)]);
    let mut era = script.connect_http().await.unwrap().with_rules(Again { marker: -1, times: 3 });
    assert_eq!(era.call(call(Method::TOOLS_CALL)).await.unwrap_err().code(), -1);
    assert_eq!(marks(&script).len(), 4);
    assert_eq!(era.call(call(Method::TOOLS_LIST)).await.unwrap().result.as_bytes(), b"{}");
}

#[tokio::test]
async fn what_a_rule_refuses_is_not_sent() {
    let script = answering(Vec::new());
    let mut era = script.connect().await.unwrap().with_rules((Again { marker: -1, times: 1 }, ()));
    let mut request = call(Method::TOOLS_CALL);
    request.params.set("refused", RawJson::null());
    assert_eq!(era.call(request).await.unwrap_err().code(), code::INVALID_PARAMS);
    assert!(marks(&script).is_empty());
}
