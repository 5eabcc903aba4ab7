//! Tests of calls that an operator approves with other arguments.

use mgp_types::mgp::method::EDITED_META;
use mgp_types::{Flow, Object, gates};

use super::*;
use crate::permission::GrantLifetime;

/// The yes of an operator who edits the arguments.
fn edited(arguments: &'static str) -> ApprovalAnswer {
    let arguments = Some(RawJson::parse(arguments).unwrap());
    ApprovalAnswer { arguments, ..ApprovalAnswer::new(ada(), Decision::Approved) }
}

const EDIT: &str = r#"{"path":"/b"}"#;

/// Returns the arguments that reached the server.
fn sent(server: &TestServer) -> Vec<String> {
    let argument = |request: &Request| request.params.get("arguments").unwrap().to_string();
    server.seen.lock().iter().map(argument).collect()
}

/// A gate that refuses calls of one path.
#[derive(Clone)]
struct Protects(&'static str);

impl Gate for Protects {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let path = request.params.object("arguments").unwrap_or_default().text("path").map(String::from);
        if path.as_deref() == Some(self.0) {
            return Flow::refuse(Error::invalid_params("it is protected"));
        }
        Flow::Pass(())
    }
}

#[tokio::test]
async fn an_edited_call_is_made_once_with_the_new_arguments_and_its_caller_is_told() {
    let approver = AnsweringApprover::with(edited(EDIT));
    let server = TestServer::new();
    let gate = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
    let mut stack = gates![EditedCallGate, gate].layer(server.clone());
    let trail = Arc::new(CallRecord::default());
    let mut request = of(RiskLevel::Dangerous);
    request.context.trail = Some(trail.clone());
    let response = stack.call(request).await.unwrap();
    assert_eq!(sent(&server), [EDIT]);
    let meta = Object::from_raw(&response.to_raw()).unwrap().object("_meta").unwrap();
    assert_eq!(meta.get(EDITED_META).unwrap().to_string(), EDIT);
    let digest = |json: &'static str| {
        mgp_types::canonical::digest(&RawJson::parse(json).unwrap()).unwrap().to_string()
    };
    assert_eq!(trail.edit(), Some([&*digest(r#"{"path":"/a"}"#), &*digest(EDIT)]));
    assert_eq!((trail.approved_by(), approver.asked.lock().len()), (Some("ada"), 1));
    // The confirmation was for that call, and not for the next one with the same arguments.
    stack.call(tool_call(RiskLevel::Dangerous, &[], EDIT)).await.unwrap();
    assert_eq!(approver.asked.lock().len(), 2);
}

#[tokio::test]
async fn an_edited_call_passes_every_gate_again() {
    let approver = AnsweringApprover::with(edited(EDIT));
    let server = TestServer::new();
    let gate = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
    let mut stack = gates![EditedCallGate, Protects("/b"), gate].layer(server.clone());
    let error = stack.call(of(RiskLevel::Dangerous)).await.unwrap_err();
    assert_eq!(error.message(), "an operator changed the arguments of the call: it is protected");
    assert!(sent(&server).is_empty());
    assert_eq!(approver.asked.lock().len(), 1);
}

#[tokio::test]
async fn a_permission_for_the_asked_call_alone_does_not_cover_the_edited_one() {
    let once = GrantTerms { lasts: GrantLifetime::Once, ..GrantTerms::default() };
    let approver = AnsweringApprover::with(ApprovalAnswer { terms: once, ..edited(EDIT) });
    let book = book(&Arc::default()).await;
    let permissions = connected_asking(approver.clone(), &book, &[]).await;
    let gate = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
    let server = TestServer::new();
    let request = tool_call(RiskLevel::Dangerous, &[Permission::ShellExecute], r#"{"path":"/a"}"#);
    gates![permissions, gate].layer(server.clone()).call(request).await.unwrap();
    assert_eq!(sent(&server), [EDIT]);
    let asked = approver.asked.lock();
    let is_of_permission = |question: &crate::permission::ApprovalQuestion| {
        matches!(question.subject, ApprovalSubject::Permission { .. })
    };
    assert_eq!(asked.iter().map(is_of_permission).collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test]
async fn an_edit_that_comes_late_is_for_the_same_call_made_again_and_once() {
    let pending = pending(Clock::system()).await;
    let settings = ConfirmationSettings { patience: Duration::ZERO, ..ConfirmationSettings::default() };
    let gate = ConfirmationGate::new(settings, Arc::new(pending.clone()));
    let server = TestServer::new();
    let mut stack = gate.layer(server.clone());
    assert_eq!(reason(&stack.call(of(RiskLevel::Dangerous)).await.unwrap_err()), "deferred");
    let id = pending.list().remove(0).id;
    pending.decide(&ada(), &id, &edited(EDIT)).await.unwrap();
    let shown = pending.find(&id).unwrap().edited_arguments().unwrap();
    assert!(shown.whole().contains("/b"), "{shown:?}");
    let as_edited = tool_call(RiskLevel::Dangerous, &[], EDIT);
    assert_eq!(reason(&stack.call(as_edited).await.unwrap_err()), "deferred", "nobody approved this call");
    stack.call(of(RiskLevel::Dangerous)).await.unwrap();
    assert_eq!(sent(&server), [EDIT]);
    assert_eq!(reason(&stack.call(of(RiskLevel::Dangerous)).await.unwrap_err()), "deferred");
}

#[tokio::test]
async fn a_round_that_brings_input_for_an_edited_call_is_asked_about_and_edited_again() {
    let approver = AnsweringApprover::with(edited(EDIT));
    let server =
        TestServer::with_result(r#"{"resultType":"input_required","inputRequests":{},"requestState":"s1"}"#);
    let gate = ConfirmationGate::new(ConfirmationSettings::default(), approver.clone());
    let mut stack = gate.layer(server.clone());
    stack.call(of(RiskLevel::Dangerous)).await.unwrap();
    let mut next = of(RiskLevel::Dangerous);
    next.params.set("requestState", RawJson::from_text("s1"));
    stack.call(next).await.unwrap();
    assert_eq!(sent(&server), [EDIT, EDIT]);
    assert_eq!(approver.asked.lock().len(), 2, "the round came with the arguments that nobody approved");
}

#[tokio::test]
async fn only_an_object_in_place_of_arguments_that_are_shown_whole_is_an_edit() {
    let pending = pending(Clock::system()).await;
    let settings = ConfirmationSettings { patience: Duration::ZERO, ..asking_if_moderate() };
    let mut stack = ConfirmationGate::new(settings, Arc::new(pending.clone())).layer(TestServer::new());
    for (arguments, edit, max_uses) in [
        (r#"{"password":"hunter2"}"#, EDIT, 1),
        (r#"{"path":"\u202e"}"#, EDIT, 1),
        (r#"{"path":"/a"}"#, r#"["/b"]"#, 1),
        (r#"{"path":"/a"}"#, "null", 1),
        (r#"{"path":"/a"}"#, EDIT, 2),
    ] {
        stack.call(tool_call(RiskLevel::Moderate, &[], arguments)).await.unwrap_err();
        let open = pending.list().remove(0);
        let answer = ApprovalAnswer { max_uses, ..edited(edit) };
        let error = pending.decide(&ada(), &open.id, &answer).await.unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS, "{arguments} {edit}");
        assert!(pending.find(&open.id).unwrap().answer.is_none(), "the question still waits");
        pending.forget(&ada(), &open.id).await.unwrap();
    }
}
