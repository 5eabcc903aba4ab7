use std::future::{Ready, pending, ready};

use parking_lot::Mutex;

use super::*;
use crate::{Object, RawJson};

type Seen = Arc<Mutex<Vec<String>>>;

/// A gate that notes what it sees, and decides as it is told.
#[derive(Clone)]
struct Noting {
    name: &'static str,
    seen: Seen,
    decide: fn(&mut Request) -> Flow<&'static str>,
}

impl Gate for Noting {
    type Pass = &'static str;

    fn enter(&self, request: &mut Request) -> Flow<&'static str> {
        self.seen.lock().push(format!("{} in", self.name));
        (self.decide)(request)
    }

    fn leave(&self, pass: &'static str, outcome: &mut Result<Response, Error>) {
        let word = if outcome.is_ok() { "ok" } else { "refused" };
        self.seen.lock().push(format!("{} out: {word} {pass}", self.name));
    }
}

/// A service that notes that it was called.
#[derive(Clone)]
struct Noted(Seen);

impl Service<Request> for Noted {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.0.lock().push(format!("called {}", request.method));
        ready(Ok(Response::empty()))
    }
}

fn passes(_: &mut Request) -> Flow<&'static str> {
    Flow::Pass("at once")
}

fn refuses(_: &mut Request) -> Flow<&'static str> {
    Flow::refuse(Error::invalid_request("no"))
}

fn passes_late(request: &mut Request) -> Flow<&'static str> {
    let request = request.take();
    Flow::wait(async move {
        (request, Flow::wait(async { (Request::call("ping", Object::new()), passes_now()) }))
    })
}

fn refuses_late(request: &mut Request) -> Flow<&'static str> {
    let request = request.take();
    Flow::wait(async move { (request, Flow::refuse(Error::invalid_request("no"))) })
}

fn passes_now() -> Flow<&'static str> {
    Flow::Pass("late")
}

/// Changes a ping, which enters anew, and lets pass what it became.
fn changes(request: &mut Request) -> Flow<&'static str> {
    if request.take().method.as_str() != "ping" {
        *request = Request::call("changed", Object::new());
        return Flow::Pass("anew");
    }
    Flow::wait(async { (Request::call("changed", Object::new()), Flow::refuse(Error::changed())) })
}

fn answered(
    first: fn(&mut Request) -> Flow<&'static str>,
    second: fn(&mut Request) -> Flow<&'static str>,
) -> (bool, Vec<String>) {
    let seen = Seen::default();
    let gate = |name, decide| Noting { name, seen: Arc::clone(&seen), decide };
    let gates = gates![gate("a", first), gate("b", second)];
    let mut service = GateLayer::new(gates).layer(Noted(Arc::clone(&seen)));
    let mut answer = std::pin::pin!(service.call(Request::call("ping", Object::new())));
    let mut context = Context::from_waker(std::task::Waker::noop());
    let Poll::Ready(outcome) = answer.as_mut().poll(&mut context) else { panic!("it waits for nothing") };
    let seen = seen.lock().clone();
    (outcome.is_ok(), seen)
}

#[test]
fn requests_enter_in_order_and_outcomes_leave_the_other_way() {
    let (is_ok, seen) = answered(passes, passes);
    assert!(is_ok);
    assert_eq!(seen, ["a in", "b in", "called ping", "b out: ok at once", "a out: ok at once"]);
}

#[test]
fn a_refusal_leaves_through_the_gates_that_it_passed_and_no_others() {
    let (is_ok, seen) = answered(passes, refuses);
    assert!(!is_ok);
    assert_eq!(seen, ["a in", "b in", "a out: refused at once"]);
    assert_eq!(answered(refuses, passes).1, ["a in"]);
    assert_eq!(answered(passes, refuses_late).1, ["a in", "b in", "a out: refused at once"]);
    assert_eq!(answered(refuses_late, passes).1, ["a in"]);
}

#[test]
fn a_request_goes_on_where_it_waited() {
    let late = answered(passes_late, passes);
    assert_eq!(late.1, ["a in", "b in", "called ping", "b out: ok at once", "a out: ok late"]);
    let late = answered(passes, passes_late);
    assert_eq!(late.1, ["a in", "b in", "called ping", "b out: ok late", "a out: ok at once"]);
    let late = answered(passes_late, passes_late);
    assert_eq!(late.1, ["a in", "b in", "called ping", "b out: ok late", "a out: ok late"]);
}

#[test]
fn a_changed_request_enters_all_gates_anew() {
    let (is_ok, seen) = answered(passes, changes);
    assert!(is_ok);
    let (asked, changed) = seen.split_at(3);
    assert_eq!(asked, ["a in", "b in", "a out: refused at once"]);
    assert_eq!(changed, ["a in", "b in", "called changed", "b out: ok anew", "a out: ok at once"]);
    let refuses_changed = |request: &mut Request| match request.method.as_str() {
        "ping" => Flow::Pass("at once"),
        _ => Flow::refuse(Error::invalid_request("no")),
    };
    let (is_ok, seen) = answered(refuses_changed, changes);
    assert!(!is_ok);
    assert_eq!(seen, ["a in", "b in", "a out: refused at once", "a in"]);
}

#[test]
fn an_answer_can_be_given_at_once_and_later() {
    let is_answered = answered(|_| Flow::answer(Response::plain(RawJson::null())), refuses);
    assert_eq!((is_answered.0, is_answered.1), (true, vec!["a in".to_owned()]));
    let later = answered(passes, |_| Flow::answer_later(async { Ok(Response::empty()) }));
    assert_eq!(later.1, ["a in", "b in", "a out: ok at once"]);
}

#[test]
fn what_waits_is_given_up_with_its_future() {
    let seen = Seen::default();
    let decide = |_: &mut Request| Flow::wait(pending());
    let gate = Noting { name: "a", seen: Arc::clone(&seen), decide };
    let mut service = gate.layer(Noted(Arc::clone(&seen)));
    let mut answer = Box::pin(service.call(Request::call("ping", Object::new())));
    assert!(answer.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())).is_pending());
    drop((answer, service, gate));
    assert_eq!(*seen.lock(), ["a in"]);
    assert_eq!(Arc::strong_count(&seen), 1);
}
