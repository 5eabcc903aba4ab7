use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{CallRecord, Decision, Permission, RiskLevel};
use mgp_types::{Error, Gate, Gated, Origin, Principal, RawJson, Request, RequestKind, Response, code};
use tower_service::Service;

use super::*;
use crate::Clock;
use crate::permission::testing::*;
use crate::permission::{
    ApprovalAnswer, ApprovalSubject, Approver, ApproverChain, GrantTerms, PendingApprovals,
};

fn tickets() -> ConfirmationTickets {
    ConfirmationTickets::new(Arc::<RecordingAuditPort>::default(), Clock::system())
}

fn answering(decision: Decision) -> Arc<AnsweringApprover> {
    AnsweringApprover::with(ApprovalAnswer::new(ada(), decision))
}

async fn call(
    settings: ConfirmationSettings,
    approver: Arc<dyn Approver>,
    tickets: &ConfirmationTickets,
    request: Request,
) -> Result<Response, Error> {
    ConfirmationGate::with_tickets(settings, approver, tickets.clone())
        .layer(TestServer::new())
        .call(request)
        .await
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

async fn give(tickets: &ConfirmationTickets, request: &Request) -> TicketId {
    let tool = request.context.tool.clone().unwrap();
    let caller = request.context.principal.clone().unwrap();
    let arguments = request.params.get("arguments");
    tickets.give(&ada(), &caller, &tool, arguments.as_ref(), Duration::from_mins(1)).await.unwrap()
}

// covers: MGP-4.4-01..03
#[tokio::test]
async fn safe_calls_are_not_confirmed_moderate_ones_if_asked_for_dangerous_ones_always() {
    for (settings, risk, asked) in [
        (ConfirmationSettings::new(), RiskLevel::Safe, 0),
        (ConfirmationSettings::new().with_moderate(), RiskLevel::Safe, 0),
        (ConfirmationSettings::new(), RiskLevel::Moderate, 0),
        (ConfirmationSettings::new().with_moderate(), RiskLevel::Moderate, 1),
        (ConfirmationSettings::new(), RiskLevel::Dangerous, 1),
        (ConfirmationSettings::new().without_dangerous(), RiskLevel::Dangerous, 0),
        (ConfirmationSettings::new().without_dangerous().with_moderate(), RiskLevel::Moderate, 1),
        (ConfirmationSettings::new().without_dangerous().with_moderate(), RiskLevel::Dangerous, 0),
        (ConfirmationSettings::new().without_dangerous().with_every_call(), RiskLevel::Safe, 1),
        (ConfirmationSettings::new().without_dangerous().with_every_call(), RiskLevel::Dangerous, 1),
    ] {
        let approver = answering(Decision::Approved);
        call(settings, approver.clone(), &tickets(), of(risk)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), asked, "{risk}");
    }
}

#[tokio::test]
async fn a_tool_that_wants_to_be_confirmed_is_whatever_its_risk() {
    let approver = answering(Decision::Denied);
    for risk in [RiskLevel::Safe, RiskLevel::Moderate, RiskLevel::Dangerous] {
        let outcome = call(ConfirmationSettings::new(), approver.clone(), &tickets(), flagged(risk)).await;
        assert_eq!(reason(&outcome.unwrap_err()), "denied");
        let without = ConfirmationSettings::new().without_dangerous();
        call(without, approver.clone(), &tickets(), flagged(risk)).await.unwrap();
    }
    assert_eq!(approver.asked.lock().len(), 3);
}

#[tokio::test]
async fn an_answer_for_several_calls_is_for_so_many_of_a_tool_that_is_not_dangerous() {
    for (risk, asked) in [(RiskLevel::Moderate, 2), (RiskLevel::Dangerous, 4)] {
        let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), Decision::Approved).for_calls(3));
        let gate = ConfirmationGate::new(ConfirmationSettings::new().with_moderate(), approver.clone());
        let mut stack = gate.layer(TestServer::new());
        for _ in 0..4 {
            stack.call(of(risk)).await.unwrap();
        }
        assert_eq!(approver.asked.lock().len(), asked, "{risk}");
    }
}

// covers: MGP-4.4-03
#[tokio::test]
async fn an_operators_permission_can_be_enough_and_a_policys_is_not() {
    let book = book(&Arc::default()).await;
    let request = || tool_call(RiskLevel::Dangerous, &[Permission::ShellExecute], "{}");
    let settings = ConfirmationSettings::new().with_permission_instead(book.clone());
    let no = answering(Decision::Denied);
    assert!(call(settings.clone(), no.clone(), &tickets(), request()).await.is_err());
    book.grant(&ada(), &"s".into(), &Permission::ShellExecute, GrantTerms::default()).await.unwrap();
    call(settings.clone(), no.clone(), &tickets(), request()).await.unwrap();
    // What needs no permission was permitted by nobody, and what wants to be confirmed is.
    assert!(call(settings.clone(), no.clone(), &tickets(), of(RiskLevel::Dangerous)).await.is_err());
    assert!(call(settings, no, &tickets(), flagged(RiskLevel::Dangerous)).await.is_err());
}

#[tokio::test]
async fn the_human_sees_the_arguments_and_nothing_secret() {
    let approver = answering(Decision::Approved);
    let request = tool_call(RiskLevel::Dangerous, &[], r#"{"path":"/etc\u001b[2K","password":"hunter2"}"#);
    call(ConfirmationSettings::new(), approver.clone(), &tickets(), request).await.unwrap();
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
    let approver = AnsweringApprover::with(ApprovalAnswer::new(agent.clone(), Decision::Approved));
    let tickets = tickets();
    let outcome = call(ConfirmationSettings::new(), approver, &tickets, of(RiskLevel::Dangerous)).await;
    assert_eq!(outcome.unwrap_err().code(), code::PERMISSION_DENIED);
    let request = of(RiskLevel::Dangerous);
    let tool = request.context.tool.clone().unwrap();
    let given = tickets.give(&agent, &agent, &tool, None, Duration::from_secs(1)).await;
    assert_eq!(given.unwrap_err().code(), code::PERMISSION_DENIED);
    let id = give(&tickets, &request).await;
    assert!(tickets.withdraw(&agent, &id).is_err());
}

#[tokio::test]
async fn without_caller_or_tool_a_call_is_refused_in_any_shape() {
    for kind in [RequestKind::Call, RequestKind::Notify] {
        let mut anonymous = of(RiskLevel::Dangerous);
        (anonymous.kind, anonymous.context.principal) = (kind, None);
        let mut unresolved = of(RiskLevel::Dangerous);
        (unresolved.kind, unresolved.context.tool) = (kind, None);
        for request in [anonymous, unresolved] {
            let outcome =
                call(ConfirmationSettings::new(), answering(Decision::Approved), &tickets(), request).await;
            assert_eq!(outcome.unwrap_err().code(), code::INVALID_REQUEST);
        }
    }
}

#[tokio::test]
async fn a_ticket_is_for_one_call_of_these_arguments() {
    let tickets = tickets();
    let no = answering(Decision::Denied);
    let request = of(RiskLevel::Dangerous);
    give(&tickets, &request).await;
    let mut other = tool_call(RiskLevel::Dangerous, &[], r#"{"path":"/b"}"#);
    assert!(call(ConfirmationSettings::new(), no.clone(), &tickets, other.clone()).await.is_err());
    other = request.clone();
    other.context.principal = Some(Principal::new("somebody else"));
    assert!(call(ConfirmationSettings::new(), no.clone(), &tickets, other).await.is_err());
    let trail = Arc::new(CallRecord::default());
    let mut respelled = request.clone();
    respelled.params.set("arguments", RawJson::parse(r#"{ "path": "\u002fa" }"#).unwrap());
    respelled.context.trail = Some(trail.clone());
    call(ConfirmationSettings::new(), no.clone(), &tickets, respelled).await.unwrap();
    assert_eq!(trail.approved_by(), Some("ada"));
    let replay = call(ConfirmationSettings::new(), no.clone(), &tickets, request).await;
    assert_eq!(reason(&replay.unwrap_err()), "denied");
}

#[tokio::test]
async fn a_ticket_that_was_taken_back_or_not_recorded_confirms_nothing() {
    let audit = Arc::<RecordingAuditPort>::default();
    let tickets = ConfirmationTickets::new(audit.clone(), Clock::system());
    let no = answering(Decision::Denied);
    let request = of(RiskLevel::Dangerous);
    let id = give(&tickets, &request).await;
    assert!(tickets.withdraw(&ada(), &id).unwrap());
    assert!(!tickets.withdraw(&ada(), &id).unwrap());
    assert!(call(ConfirmationSettings::new(), no.clone(), &tickets, request.clone()).await.is_err());
    assert_eq!(audit.lines(), ["PERMISSION_GRANTED  SUCCESS"]);
    audit.fail();
    let tool = request.context.tool.clone().unwrap();
    let caller = request.context.principal.clone().unwrap();
    let arguments = request.params.get("arguments");
    tickets.give(&ada(), &caller, &tool, arguments.as_ref(), Duration::from_secs(9)).await.unwrap_err();
    assert!(call(ConfirmationSettings::new(), no, &tickets, request).await.is_err());
}

#[test]
fn a_call_is_recorded_by_a_digest_of_its_own() {
    let binding = |arguments: &str| {
        let request = tool_call(RiskLevel::Dangerous, &[], arguments);
        let (tool, caller) =
            (request.context.tool.clone().unwrap(), request.context.principal.clone().unwrap());
        let arguments = request.params.get("arguments");
        super::binding::ConfirmationBinding::new(&caller, &tool, arguments.as_ref()).unwrap().to_string()
    };
    assert_eq!(binding(r#"{"path":"/a"}"#), binding(r#"{ "path": "/a" }"#));
    assert_ne!(binding(r#"{"path":"/a"}"#), binding(r#"{"path":"/b"}"#));
}

#[tokio::test]
async fn taking_a_ticket_back_leaves_the_others() {
    let audit = Arc::<RecordingAuditPort>::default();
    let tickets = ConfirmationTickets::new(audit.clone(), Clock::system());
    let request = of(RiskLevel::Dangerous);
    let (first, second) = (give(&tickets, &request).await, give(&tickets, &request).await);
    assert_ne!(first.as_str(), second.as_str());
    assert!(first.as_str().len() >= 16);
    let elsewhere = ConfirmationTickets::new(audit, Clock::system());
    let foreign = give(&elsewhere, &request).await;
    assert!(!tickets.withdraw(&ada(), &foreign).unwrap());
    assert!(tickets.withdraw(&ada(), &first).unwrap());
    let no = answering(Decision::Denied);
    call(ConfirmationSettings::new(), no.clone(), &tickets, request.clone()).await.unwrap();
    assert!(call(ConfirmationSettings::new(), no, &tickets, request).await.is_err());
}

#[tokio::test]
async fn there_is_room_for_so_many_tickets_and_for_no_more() {
    let tickets = tickets();
    let request = of(RiskLevel::Dangerous);
    for _ in 0..super::tickets::MAX_TICKETS {
        give(&tickets, &request).await;
    }
    let (tool, caller) = (request.context.tool.clone().unwrap(), request.context.principal.clone().unwrap());
    let error = tickets.give(&ada(), &caller, &tool, None, Duration::from_mins(1)).await.unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_ends() {
    let tickets = tickets();
    let request = of(RiskLevel::Dangerous);
    give(&tickets, &request).await;
    tokio::time::advance(Duration::from_mins(1)).await;
    let outcome = call(ConfirmationSettings::new(), answering(Decision::Denied), &tickets, request).await;
    assert!(outcome.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_that_race_for_one_ticket_exactly_one_passes() {
    for _ in 0..20 {
        let tickets = tickets();
        let request = of(RiskLevel::Dangerous);
        give(&tickets, &request).await;
        let barrier = Arc::new(tokio::sync::Barrier::new(64));
        let calls: Vec<_> = (0..64)
            .map(|_| {
                let (tickets, request, barrier) = (tickets.clone(), request.clone(), barrier.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    call(ConfirmationSettings::new(), answering(Decision::Denied), &tickets, request)
                        .await
                        .is_ok()
                })
            })
            .collect();
        let mut passed = 0;
        for call in calls {
            passed += usize::from(call.await.unwrap());
        }
        assert_eq!(passed, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_own_yes_and_no_longer_than_it_has_patience() {
    let pending = PendingApprovals::new(Clock::system());
    let tickets = tickets();
    let spawn = || {
        let (pending, tickets) = (Arc::new(pending.clone()), tickets.clone());
        tokio::spawn(async move {
            call(ConfirmationSettings::new(), pending, &tickets, of(RiskLevel::Dangerous)).await
        })
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
async fn a_ticket_given_while_a_call_waits_lets_it_through() {
    let pending = PendingApprovals::new(Clock::system());
    let tickets = tickets();
    let waiting = tokio::spawn({
        let (pending, tickets) = (Arc::new(pending.clone()), tickets.clone());
        async move { call(ConfirmationSettings::new(), pending, &tickets, of(RiskLevel::Dangerous)).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    give(&tickets, &of(RiskLevel::Dangerous)).await;
    waiting.await.unwrap().unwrap();
    assert!(pending.list().is_empty());
}

/// A client that is asked by an answer, and calls again with the reply.
mod replies {
    use mgp_types::{InputExchange, Object, Revision, Session};

    use super::*;

    fn approver() -> Arc<ApproverChain> {
        let operator = Arc::new(|call: &mgp_types::Context| {
            call.principal.as_ref().filter(|client| client.as_str() == "agent").map(|_| ada())
        });
        Arc::new(ApproverChain::new(operator, PendingApprovals::new(Clock::system()), Clock::system()))
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
        (call(ConfirmationSettings::new(), approver.clone(), &tickets(), request).await, exchange)
    }

    fn yes(key: &str) -> Object {
        let mut answers = Object::new();
        let yes = r#"{"action":"accept","content":{"decision":"approve"}}"#;
        answers.set(key.to_owned(), RawJson::parse(yes).unwrap());
        answers
    }

    #[tokio::test]
    async fn the_reply_confirms_once_2026() {
        let approver = approver();
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
        let (outcome, _) = ask(&approver(), yes("approval-00000000000000000000000000000000")).await;
        assert_eq!(outcome.unwrap_err().origin(), Origin::InputRequired);
    }

    #[tokio::test]
    async fn a_client_without_a_human_is_not_asked_2026() {
        let (mut request, exchange) = round(Object::new());
        request.context.principal = Some(Principal::new("robot"));
        let settings = ConfirmationSettings::new().with_patience(Duration::ZERO);
        let outcome = call(settings, approver(), &tickets(), request).await;
        assert_eq!(reason(&outcome.unwrap_err()), "deferred");
        assert!(exchange.take_questions().is_empty());
    }
}

#[tokio::test]
async fn a_ticket_there_is_no_room_for_is_not_recorded_as_given() {
    let audit = Arc::<RecordingAuditPort>::default();
    let tickets = ConfirmationTickets::new(audit.clone(), Clock::system());
    let request = of(RiskLevel::Dangerous);
    for _ in 0..4096 {
        give(&tickets, &request).await;
    }
    let given = audit.lines().len();
    let tool = request.context.tool.clone().unwrap();
    let caller = request.context.principal.clone().unwrap();
    let error = tickets.give(&ada(), &caller, &tool, None, Duration::from_mins(1)).await.unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    assert_eq!(audit.lines().len(), given);
}

/// A server that asks for something, and a client that comes back with it.
mod rounds {
    use super::*;

    const ASKED: &str = r#"{"resultType":"input_required","inputRequests":{},"requestState":"s1"}"#;

    /// One layer and what is behind it, to be called several times.
    fn gate(asked: &'static str, approver: &Arc<AnsweringApprover>) -> Gated<ConfirmationGate, TestServer> {
        let layer = ConfirmationGate::with_tickets(ConfirmationSettings::new(), approver.clone(), tickets());
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
