use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{CallEffect, CallRecord, Decision, Permission, RiskLevel};
use mgp_types::{Error, Gate, Gated, Origin, Principal, RawJson, Request, RequestKind, Response, code};
use tower_service::Service;

use super::*;
use crate::Clock;
use crate::permission::testing::*;
use crate::permission::{
    ApprovalAnswer, ApprovalSubject, Approver, ApproverChain, GrantTerms, PendingApprovals, PersonInFront,
};

mod edits;
mod rules;

fn answering(decision: Decision) -> Arc<AnsweringApprover> {
    AnsweringApprover::with(ApprovalAnswer::new(ada(), decision))
}

fn asking_if_moderate() -> ConfirmationSettings {
    ConfirmationSettings { moderate: true, ..ConfirmationSettings::default() }
}

/// Returns an approver that says yes to so many calls.
fn approving(max_uses: u32) -> Arc<AnsweringApprover> {
    AnsweringApprover::with(ApprovalAnswer { max_uses, ..ApprovalAnswer::new(ada(), Decision::Approved) })
}

async fn call(
    settings: ConfirmationSettings,
    approver: Arc<dyn Approver>,
    request: Request,
) -> Result<Response, Error> {
    ConfirmationGate::new(settings, approver).layer(TestServer::new()).call(request).await
}

fn of(risk: RiskLevel) -> Request {
    tool_call(risk, &[], r#"{"path":"/a"}"#)
}

fn flagged(risk: RiskLevel) -> Request {
    let mut request = of(risk);
    let mut tool = mgp_types::mgp::ResolvedTool::clone(request.context.tool.as_ref().unwrap());
    tool.security.confirmation = true;
    request.context.tool = Some(Arc::new(tool));
    request
}

/// Makes a call that nobody confirms in time, and confirms it afterwards, for so many calls.
async fn confirm_late(gate: &ConfirmationGate, pending: &PendingApprovals, request: Request, calls: u32) {
    let outcome = gate.layer(TestServer::new()).call(request).await;
    assert_eq!(reason(&outcome.unwrap_err()), "deferred");
    let asked = pending.list().pop().unwrap();
    let yes = ApprovalAnswer { max_uses: calls, ..ApprovalAnswer::new(ada(), Decision::Approved) };
    pending.decide(&ada(), &asked.id, &yes).await.unwrap();
}

// covers: MGP-4.4-01..03
#[tokio::test]
async fn safe_calls_are_not_confirmed_moderate_ones_if_asked_for_dangerous_ones_always() {
    use RiskLevel::{Dangerous, Moderate, Safe};
    for (every, moderate, dangerous, risk, asked) in [
        (false, false, true, Safe, 0),
        (false, true, true, Safe, 0),
        (false, false, true, Moderate, 0),
        (false, true, true, Moderate, 1),
        (false, false, true, Dangerous, 1),
        (false, false, false, Dangerous, 0),
        (false, true, false, Moderate, 1),
        (false, true, false, Dangerous, 0),
        (true, false, false, Safe, 1),
        (true, false, false, Dangerous, 1),
    ] {
        let settings = ConfirmationSettings { every, moderate, dangerous, ..ConfirmationSettings::default() };
        let approver = answering(Decision::Approved);
        call(settings, approver.clone(), of(risk)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), asked, "{risk}");
    }
}

#[tokio::test]
async fn a_tool_that_wants_to_be_confirmed_is_whatever_its_risk() {
    let approver = answering(Decision::Denied);
    for risk in [RiskLevel::Safe, RiskLevel::Moderate, RiskLevel::Dangerous] {
        let outcome = call(ConfirmationSettings::default(), approver.clone(), flagged(risk)).await;
        assert_eq!(reason(&outcome.unwrap_err()), "denied");
        let without = ConfirmationSettings { dangerous: false, ..ConfirmationSettings::default() };
        call(without, approver.clone(), flagged(risk)).await.unwrap();
    }
    assert_eq!(approver.asked.lock().len(), 3);
}

#[tokio::test]
async fn an_answer_for_several_calls_is_for_so_many_of_a_tool_that_is_not_dangerous() {
    for (risk, asked) in [(RiskLevel::Moderate, 2), (RiskLevel::Dangerous, 4)] {
        let approver = approving(3);
        let gate = ConfirmationGate::new(asking_if_moderate(), approver.clone());
        let mut stack = gate.layer(TestServer::new());
        for _ in 0..4 {
            stack.call(of(risk)).await.unwrap();
        }
        assert_eq!(approver.asked.lock().len(), asked, "{risk}");
    }
}

#[tokio::test]
async fn one_yes_a_day_is_enough_where_nothing_but_an_unknown_effect_is_asked_about() {
    for (request, asked) in
        [(of(RiskLevel::Safe), 1), (of(RiskLevel::Dangerous), 3), (flagged(RiskLevel::Safe), 3)]
    {
        let approver = answering(Decision::Approved);
        let gate = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
        let mut stack = gate.layer(TestServer::new());
        for _ in 0..3 {
            let mut request = request.clone();
            request.context.effect = Some(CallEffect::Unknown);
            stack.call(request).await.unwrap();
        }
        assert_eq!(approver.asked.lock().len(), asked, "{request:?}");
    }
}

// covers: MGP-4.4-03
#[tokio::test]
async fn an_operators_permission_can_be_enough_and_a_policys_is_not() {
    let book = book(&Arc::default()).await;
    let request = || tool_call(RiskLevel::Dangerous, &[Permission::ShellExecute], "{}");
    let settings = ConfirmationSettings { instead: Some(book.clone()), ..ConfirmationSettings::default() };
    let no = answering(Decision::Denied);
    assert!(call(settings.clone(), no.clone(), request()).await.is_err());
    book.grant(&ada(), None, &"s".into(), &Permission::ShellExecute, GrantTerms::default()).await.unwrap();
    call(settings.clone(), no.clone(), request()).await.unwrap();
    // What needs no permission was permitted by nobody, and what wants to be confirmed is.
    assert!(call(settings.clone(), no.clone(), of(RiskLevel::Dangerous)).await.is_err());
    assert!(call(settings, no, flagged(RiskLevel::Dangerous)).await.is_err());
}

#[tokio::test]
async fn the_human_sees_the_arguments_and_nothing_secret() {
    let approver = answering(Decision::Approved);
    let request = tool_call(RiskLevel::Dangerous, &[], r#"{"path":"/etc\u001b[2K","password":"hunter2"}"#);
    call(ConfirmationSettings::default(), approver.clone(), request).await.unwrap();
    let message = approver.asked.lock()[0].message();
    assert!(
        message.contains("/etc") && message.contains("agent") && message.contains("dangerous"),
        "{message}"
    );
    assert!(!message.contains("hunter2") && !message.contains('\u{1b}'), "{message}");
}

#[tokio::test]
async fn only_an_operator_confirms() {
    let agent = Principal::new("agent");
    let approver = AnsweringApprover::with(ApprovalAnswer::new(agent, Decision::Approved));
    let outcome = call(ConfirmationSettings::default(), approver, of(RiskLevel::Dangerous)).await;
    assert_eq!(outcome.unwrap_err().code(), code::PERMISSION_DENIED);
}

#[tokio::test]
async fn without_caller_or_tool_a_call_is_refused_in_any_shape() {
    for kind in [RequestKind::Call, RequestKind::Notify] {
        let mut anonymous = of(RiskLevel::Dangerous);
        (anonymous.kind, anonymous.context.principal) = (kind, None);
        let mut unresolved = of(RiskLevel::Dangerous);
        (unresolved.kind, unresolved.context.tool) = (kind, None);
        for request in [anonymous, unresolved] {
            let outcome = call(ConfirmationSettings::default(), answering(Decision::Approved), request).await;
            assert_eq!(outcome.unwrap_err().code(), code::INVALID_REQUEST);
        }
    }
}

#[tokio::test]
async fn a_yes_that_comes_late_is_for_one_call_of_these_arguments() {
    let pending = pending(Clock::system()).await;
    let settings = ConfirmationSettings { patience: Duration::ZERO, ..ConfirmationSettings::default() };
    let gate = ConfirmationGate::new(settings, Arc::new(pending.clone()));
    let mut stack = gate.layer(TestServer::new());
    let request = of(RiskLevel::Dangerous);
    confirm_late(&gate, &pending, request.clone(), 1).await;
    let with_other_arguments = tool_call(RiskLevel::Dangerous, &[], r#"{"path":"/b"}"#);
    let mut of_another_caller = request.clone();
    of_another_caller.context.principal = Some(Principal::new("somebody else"));
    for other in [with_other_arguments, of_another_caller] {
        assert_eq!(reason(&stack.call(other).await.unwrap_err()), "deferred");
    }
    let trail = Arc::new(CallRecord::default());
    let mut respelled = request.clone();
    respelled.params.set("arguments", RawJson::parse(r#"{ "path": "\u002fa" }"#).unwrap());
    respelled.context.trail = Some(trail.clone());
    stack.call(respelled).await.unwrap();
    assert_eq!(trail.approved_by(), Some("ada"));
    assert_eq!(reason(&stack.call(request).await.unwrap_err()), "deferred");
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_several_calls_ends() {
    let approver = approving(9);
    let gate = ConfirmationGate::new(asking_if_moderate(), approver.clone());
    let mut stack = gate.layer(TestServer::new());
    for (seconds, asked) in [(0, 1), (599, 1), (1, 2)] {
        tokio::time::advance(Duration::from_secs(seconds)).await;
        stack.call(of(RiskLevel::Moderate)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), asked);
    }
}

/// Returns how many of 64 calls that are made at once pass.
async fn race(gate: &ConfirmationGate, risk: RiskLevel) -> usize {
    let barrier = Arc::new(tokio::sync::Barrier::new(64));
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let (gate, barrier) = (gate.clone(), barrier.clone());
            tokio::spawn(async move {
                barrier.wait().await;
                gate.layer(TestServer::new()).call(of(risk)).await.is_ok()
            })
        })
        .collect();
    let mut passed = 0;
    for call in calls {
        passed += usize::from(call.await.unwrap());
    }
    passed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_that_race_for_a_yes_as_many_pass_as_it_is_for() {
    for _ in 0..20 {
        let pending = pending(Clock::system()).await;
        let settings = ConfirmationSettings { patience: Duration::ZERO, ..asking_if_moderate() };
        let gate = ConfirmationGate::new(settings, Arc::new(pending.clone()));
        confirm_late(&gate, &pending, of(RiskLevel::Dangerous), 1).await;
        assert_eq!(race(&gate, RiskLevel::Dangerous).await, 1);
        confirm_late(&gate, &pending, of(RiskLevel::Moderate), 4).await;
        gate.layer(TestServer::new()).call(of(RiskLevel::Moderate)).await.unwrap();
        assert_eq!(race(&gate, RiskLevel::Moderate).await, 3, "the first has taken one");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_own_yes_and_no_longer_than_it_has_patience() {
    let pending = pending(Clock::system()).await;
    let spawn = || {
        let pending = Arc::new(pending.clone());
        tokio::spawn(
            async move { call(ConfirmationSettings::default(), pending, of(RiskLevel::Dangerous)).await },
        )
    };
    let (first, second) = (spawn(), spawn());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let open = pending.list();
    assert_eq!(open.len(), 1, "the same call is asked about once");
    assert!(
        matches!(&open[0].subject, ApprovalSubject::Call { arguments, .. } if arguments.brief().contains("/a"))
    );
    let yes = ApprovalAnswer::new(ada(), Decision::Approved);
    pending.decide(&ada(), &open[0].id, &yes).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let left = pending.list();
    assert!(left.len() == 1 && left[0].id != open[0].id, "one yes is for one call");
    let outcomes = [first.await.unwrap(), second.await.unwrap()];
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let error = outcomes.into_iter().find_map(Result::err).unwrap();
    assert_eq!(reason(&error), "deferred");
    assert!(error.message().contains(&format!("mgp permissions approve {}", left[0].id.as_str())), "{error}");
    // The yes that comes late is for the same call, made again.
    pending.decide(&ada(), &left[0].id, &yes).await.unwrap();
    spawn().await.unwrap().unwrap();
    assert!(pending.list().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_several_calls_lets_others_through_that_wait() {
    let pending = pending(Clock::system()).await;
    let gate = ConfirmationGate::new(asking_if_moderate(), Arc::new(pending.clone()));
    let waiting = ["/a", "/b", "/c"].map(|path| {
        let request = tool_call(RiskLevel::Moderate, &[], &format!(r#"{{"path":"{path}"}}"#));
        let mut stack = gate.layer(TestServer::new());
        tokio::spawn(async move { stack.call(request).await })
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let open = pending.list();
    assert_eq!(open.len(), 3);
    let yes = ApprovalAnswer { max_uses: 2, ..ApprovalAnswer::new(ada(), Decision::Approved) };
    pending.decide(&ada(), &open[0].id, &yes).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(pending.list().len(), 1, "nobody is asked about what was confirmed with another call");
    let mut passed = 0;
    for call in waiting {
        passed += usize::from(call.await.unwrap().is_ok());
    }
    assert_eq!(passed, 2);
}

#[tokio::test(start_paused = true)]
async fn a_yes_for_several_calls_that_nobody_waited_for_lets_any_call_of_the_tool_through() {
    let pending = pending(Clock::system()).await;
    let confirmed = ConfirmedCalls::default();
    let gate = ConfirmationGate::new(asking_if_moderate(), Arc::new(pending.clone()));
    let gate = gate.sharing(confirmed.clone());
    let call = async |risk, path: &str| {
        let mut request = tool_call(risk, &[], &format!(r#"{{"path":"{path}"}}"#));
        request.context.unattended = true;
        gate.layer(TestServer::new()).call(request).await
    };
    assert!(call(RiskLevel::Moderate, "/a").await.is_err());
    let question = pending.list()[0].id.clone();
    let yes = ApprovalAnswer { max_uses: 3, ..ApprovalAnswer::new(ada(), Decision::Approved) };
    pending.decide(&ada(), &question, &yes).await.unwrap();
    assert!(call(RiskLevel::Dangerous, "/b").await.is_err(), "what is dangerous is asked about each time");
    assert!(call(RiskLevel::Moderate, "/c").await.is_ok(), "other arguments, and first");
    let left = || confirmed.list().iter().map(|batch| (batch.left, batch.calls)).collect::<Vec<_>>();
    assert_eq!(left(), [(2, Some(3))]);
    assert!(call(RiskLevel::Moderate, "/a").await.is_ok());
    assert_eq!(left(), [(1, Some(3))]);
    assert!(confirmed.forget(&question) && left().is_empty());
    assert!(call(RiskLevel::Moderate, "/d").await.is_err());
}

/// A client that is asked by an answer, and calls again with the reply.
mod replies {
    use mgp_types::{InputExchange, Object, Revision, Session};

    use super::*;

    async fn approver() -> Arc<ApproverChain> {
        let operator = Arc::new(|call: &mgp_types::Context| {
            let is_there = call.principal.as_ref().is_some_and(|client| client.as_str() == "agent");
            if is_there { PersonInFront::Operator(ada()) } else { PersonInFront::Nobody }
        });
        Arc::new(ApproverChain::new(operator, pending(Clock::system()).await, Clock::system()))
    }

    fn round(answers: Object) -> (Request, Arc<InputExchange>) {
        let mut request = of(RiskLevel::Dangerous);
        let exchange = Arc::new(InputExchange::new(answers));
        let mut session = Session::new(Revision::V2026_07_28);
        session.capabilities = Object::parse(r#"{"elicitation":{}}"#).unwrap();
        request.context.session = Some(Arc::new(session));
        request.context.input = Some(exchange.clone());
        (request, exchange)
    }

    async fn ask(
        approver: &Arc<ApproverChain>,
        answers: Object,
    ) -> (Result<Response, Error>, Arc<InputExchange>) {
        let (request, exchange) = round(answers);
        (call(ConfirmationSettings::default(), approver.clone(), request).await, exchange)
    }

    fn yes(key: &str) -> Object {
        let mut answers = Object::new();
        let yes = r#"{"action":"accept","content":{"decision":"approve"}}"#;
        answers.set(key.to_owned(), RawJson::parse(yes).unwrap());
        answers
    }

    #[tokio::test]
    async fn the_reply_confirms_once_2026() {
        let approver = approver().await;
        let (outcome, exchange) = ask(&approver, Object::new()).await;
        assert_eq!(outcome.unwrap_err().origin(), Origin::InputRequired);
        let question = exchange.take_questions().remove(0);
        assert!(question.params.text("message").unwrap().contains("/a"));
        ask(&approver, yes(&question.key)).await.0.unwrap();
        let (replayed, exchange) = ask(&approver, yes(&question.key)).await;
        assert_eq!(replayed.unwrap_err().origin(), Origin::InputRequired);
        assert_ne!(exchange.take_questions()[0].key, question.key);
    }

    #[tokio::test]
    async fn a_reply_to_a_question_that_was_not_asked_is_none_2026() {
        let (outcome, _) = ask(&approver().await, yes("approval-00000000000000000000000000000000")).await;
        assert_eq!(outcome.unwrap_err().origin(), Origin::InputRequired);
    }

    #[tokio::test]
    async fn a_client_without_a_human_is_not_asked_2026() {
        let (mut request, exchange) = round(Object::new());
        request.context.principal = Some(Principal::new("robot"));
        let settings = ConfirmationSettings { patience: Duration::ZERO, ..ConfirmationSettings::default() };
        let outcome = call(settings, approver().await, request).await;
        assert_eq!(reason(&outcome.unwrap_err()), "deferred");
        assert!(exchange.take_questions().is_empty());
    }
}

/// A server that asks for something, and a client that comes back with it.
mod rounds {
    use super::*;

    const ASKED: &str = r#"{"resultType":"input_required","inputRequests":{},"requestState":"s1"}"#;

    /// One layer and what is behind it, to be called several times.
    fn gate(asked: &'static str, approver: &Arc<AnsweringApprover>) -> Gated<ConfirmationGate, TestServer> {
        let layer = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
        layer.layer(TestServer::with_result(asked))
    }

    fn with(members: &[(&'static str, &'static str)]) -> Request {
        let mut request = of(RiskLevel::Dangerous);
        for (name, value) in members {
            request.params.set(*name, RawJson::parse(*value).unwrap());
        }
        request
    }

    #[tokio::test]
    async fn a_yes_holds_for_the_next_round_of_its_call_and_once() {
        let approver = answering(Decision::Approved);
        let mut gate = gate(ASKED, &approver);
        gate.call(of(RiskLevel::Dangerous)).await.unwrap();
        for _ in 0..3 {
            // Each round asks for another one, with the same state.
            let mut next = with(&[("requestState", r#""\u0073\u0031""#), ("inputResponses", "{}")]);
            let trail = Arc::new(CallRecord::default());
            next.context.trail = Some(trail.clone());
            gate.call(next).await.unwrap();
            assert_eq!(trail.approved_by(), Some("ada"));
        }
        assert_eq!(approver.asked.lock().len(), 1);
        gate.call(of(RiskLevel::Dangerous)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), 2, "the call once more is another one");
    }

    #[tokio::test]
    async fn a_round_that_was_not_asked_for_is_confirmed_like_any_call() {
        let approver = answering(Decision::Approved);
        let mut gate = gate(ASKED, &approver);
        let answers = [("requestState", r#""s1""#), ("inputResponses", "{}")];
        gate.call(with(&answers)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), 1);
        let other_state = with(&[("requestState", r#""s2""#), ("inputResponses", "{}")]);
        let no_state = with(&[("inputResponses", "{}")]);
        let mut other_caller = with(&answers);
        other_caller.context.principal = Some(Principal::new("somebody else"));
        let mut other_arguments = with(&answers);
        other_arguments.params.set("arguments", RawJson::parse(r#"{"path":"/b"}"#).unwrap());
        for (before, request) in
            [other_state, no_state, other_caller, other_arguments].into_iter().enumerate()
        {
            gate.call(request).await.unwrap();
            assert_eq!(approver.asked.lock().len(), before + 2);
        }
    }

    #[tokio::test]
    async fn a_server_without_state_is_told_its_answers_by_the_same_call() {
        let approver = answering(Decision::Approved);
        let mut gate = gate(r#"{"resultType":"input_required","inputRequests":{}}"#, &approver);
        gate.call(of(RiskLevel::Dangerous)).await.unwrap();
        gate.call(with(&[("inputResponses", "{}")])).await.unwrap();
        assert_eq!(approver.asked.lock().len(), 1);
    }

    #[tokio::test]
    async fn a_call_that_was_answered_has_no_further_round() {
        let approver = answering(Decision::Approved);
        let mut gate = gate(r#"{"content":[],"requestState":"s1"}"#, &approver);
        gate.call(of(RiskLevel::Dangerous)).await.unwrap();
        gate.call(with(&[("requestState", r#""s1""#), ("inputResponses", "{}")])).await.unwrap();
        assert_eq!(approver.asked.lock().len(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_comes_back_too_late_is_asked_again() {
        let approver = answering(Decision::Approved);
        let mut gate = gate(ASKED, &approver);
        gate.call(of(RiskLevel::Dangerous)).await.unwrap();
        tokio::time::advance(Duration::from_mins(10)).await;
        gate.call(with(&[("requestState", r#""s1""#)])).await.unwrap();
        assert_eq!(approver.asked.lock().len(), 2);
    }
}
