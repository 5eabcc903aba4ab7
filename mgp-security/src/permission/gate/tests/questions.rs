//! The questions that a call raises, and those that it does not.

use mgp_types::mgp::{Asking, CallEffect, Version};

use super::*;

/// A call of a tool that needs the permission, which was guessed from what the tool says.
fn guessing(permission: &Permission, effect: Option<CallEffect>) -> Request {
    let mut request = needing(permission);
    let mut tool = ResolvedTool::clone(request.context.tool.as_ref().unwrap());
    tool.security.guessed_permissions = vec![permission.clone()];
    request.context.tool = Some(Arc::new(tool));
    request.context.effect = effect;
    request
}

#[tokio::test]
async fn a_call_that_comes_while_a_person_decides_about_its_server_is_told_so_at_once() {
    let book = book(&Arc::default()).await;
    let asked = Arc::new(pending(Clock::system()).await);
    let settings = PermissionSettings::new(ApprovalPolicy::Interactive);
    let gate = PermissionGate::new("s".into(), settings, book, asked.clone());
    let session = session(Revision::V2025_11_25, Version::OURS, &["shell"]);
    let negotiated = gate.clone();
    tokio::spawn(async move { negotiated.negotiate(&mut TestServer::new(), &session).await });
    while asked.open_for(gate.server()).is_none() {
        tokio::task::yield_now().await;
    }
    assert!(*gate.0.negotiating.borrow());
    let question = asked.open_for(gate.server()).unwrap();
    let error = call(&gate, needing(&SHELL)).await.unwrap_err();
    assert_eq!(error.code(), code::SERVER_NOT_READY);
    assert!(error.message().contains(question.id.as_str()), "{error}");
}

#[tokio::test]
async fn the_questions_of_a_call_are_known_without_its_being_made() {
    let (book, gate) = gated(ApprovalPolicy::Interactive).await;
    assert_eq!(gate.questions(&needing(&SHELL)).unwrap(), [SHELL]);
    book.grant(&ada(), None, gate.server(), &SHELL, GrantTerms::default()).await.unwrap();
    assert_eq!(gate.questions(&needing(&SHELL)).unwrap(), []);
    let unconnected = unasking(policy(ApprovalPolicy::AutoApprove), &book);
    assert_eq!(unconnected.questions(&needing(&READ)).unwrap_err().code(), code::SERVER_NOT_READY);
    // What the policy approves by itself is no question, and what it denies is refused.
    for (approval, questions) in [(ApprovalPolicy::AutoApprove, Some(0)), (ApprovalPolicy::DenyAll, None)] {
        let (_, gate) = gated(approval).await;
        let raised = gate.questions(&needing(&READ)).ok().map(|raised| raised.len());
        assert_eq!(raised, questions, "{approval}");
    }
}

#[tokio::test]
async fn a_guessed_permission_for_files_or_commands_is_asked_about_only_where_the_call_itself_is_not() {
    let book = book(&Arc::default()).await;
    let all = [
        None,
        Some(CallEffect::Reads),
        Some(CallEffect::Writes),
        Some(CallEffect::Runs),
        Some(CallEffect::Sends),
        Some(CallEffect::Destroys),
    ];
    for (confirms_calls, free) in
        [(false, [false, true, true, false, false, false]), (true, [false, true, true, false, true, true])]
    {
        let settings = PermissionSettings { confirms_calls, ..policy(ApprovalPolicy::Interactive) };
        let gate = connected(settings, &book, &[]).await;
        for (effect, free) in all.into_iter().zip(free) {
            for permission in [READ, Permission::FilesystemWrite, SHELL] {
                let questions = gate.questions(&guessing(&permission, effect)).unwrap();
                assert_eq!(questions.is_empty(), free, "{permission} {effect:?} {confirms_calls}");
            }
            // A declared permission is asked about, and so is one that no argument shows.
            let mut declared = needing(&READ);
            declared.context.effect = effect;
            for request in [declared, guessing(&Permission::NetworkOutbound, effect)] {
                assert_eq!(gate.questions(&request).unwrap().len(), 1, "{effect:?}");
            }
        }
    }
    // A rule of an operator about the call decides instead, under a policy that asks.
    for (approval, free) in [(ApprovalPolicy::Interactive, true), (ApprovalPolicy::ConfigOnly, false)] {
        let gate = connected(policy(approval), &book, &[]).await;
        let mut ruled = needing(&SHELL);
        ruled.context.asking = Some(Asking::Never);
        assert_eq!(gate.questions(&ruled).is_ok_and(|questions| questions.is_empty()), free, "{approval}");
    }
}
