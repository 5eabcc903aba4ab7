//! How long what was decided holds.

use super::*;

#[tokio::test]
async fn a_grant_ends_when_it_says_and_a_clock_put_back_does_not_revive_it() {
    let hands = ManualClock::at(1000);
    let database = database();
    let open = || GrantBook::open(database.clone(), Arc::<RecordingAuditPort>::default(), hands.clock());
    let book = open().await.unwrap();
    book.grant(
        &ada(),
        None,
        &"s".into(),
        &SHELL,
        GrantTerms { expires_at: Some(moment(2000)), ..GrantTerms::default() },
    )
    .await
    .unwrap();
    let gate = connected(policy(ApprovalPolicy::Interactive), &book, &[]).await;
    hands.set(1999);
    call(&gate, needing(&SHELL)).await.unwrap();
    hands.set(2000);
    assert_eq!(refused(&gate, needing(&SHELL)).await, "expired");
    hands.set(1500);
    assert_eq!(refused(&gate, needing(&SHELL)).await, "expired");
    // Nor does it when the process starts again, once the clock says what cannot be.
    hands.set(999);
    let gate = connected(policy(ApprovalPolicy::DenyAll), &open().await.unwrap(), &[]).await;
    assert_eq!(refused(&gate, needing(&SHELL)).await, "expired");
}

#[tokio::test]
async fn a_denial_ends_when_it_says() {
    let hands = ManualClock::at(1000);
    let database = database();
    let book = GrantBook::open(database, Arc::<RecordingAuditPort>::default(), hands.clock()).await.unwrap();
    let terms = GrantTerms { expires_at: Some(moment(2000)), ..GrantTerms::default() };
    let approver =
        AnsweringApprover::with(ApprovalAnswer { terms, ..ApprovalAnswer::new(ada(), Decision::Denied) });
    let gate = connected_asking(approver.clone(), &book, &[]).await;
    // At its end the permission is asked for again; the answer given then has ended already.
    for (time, asked, reason) in [(1000, 1, "denied"), (1999, 1, "denied"), (2000, 2, "deferred")] {
        hands.set(time);
        assert_eq!(refused(&gate, needing(&SHELL)).await, reason, "at {time}");
        assert_eq!(approver.asked.lock().len(), asked, "at {time}");
    }
}

#[tokio::test]
async fn what_is_granted_once_is_granted_for_one_call_while_it_runs() {
    let book = book(&Arc::default()).await;
    let terms = GrantTerms { lasts: GrantLifetime::Once, ..GrantTerms::default() };
    let approver =
        AnsweringApprover::with(ApprovalAnswer { terms, ..ApprovalAnswer::new(ada(), Decision::Approved) });
    let gate = connected_asking(approver.clone(), &book, &[]).await;
    for asked in 1..=2 {
        call(&gate, needing(&SHELL)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), asked);
        assert!(!book.is_granted(gate.server(), &SHELL), "nothing is left of it");
        assert!(!book.standing().is_used_once(gate.server(), &SHELL));
    }
}

#[tokio::test]
async fn a_yes_of_a_client_without_sessions_counts_whatever_another_client_of_the_agent_was_granted() {
    let book = book(&Arc::default()).await;
    let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), Decision::Approved));
    let gate = connected_asking(approver.clone(), &book, &[]).await;
    let of = |session: &Arc<Session>| {
        let mut request = needing(&SHELL);
        request.context.session = Some(Arc::clone(session));
        request
    };
    let [first, second] = [(); 2].map(|()| Arc::new(Session::new(Revision::V2025_11_25)));
    let stateless = || Arc::new(Session::new(Revision::V2026_07_28));
    call(&gate, of(&first)).await.unwrap();
    assert_eq!(book.all_records().len(), 1);
    // The approver of the test keeps what it was asked, and with it the session.
    approver.asked.lock().clear();
    drop(first);
    assert!(book.all_records().is_empty(), "a grant of a session that has ended is none");
    call(&gate, of(&second)).await.unwrap();
    call(&gate, of(&stateless())).await.unwrap();
    assert_eq!(approver.asked.lock().len(), 2);
    // It holds for the agent, and takes nothing from the session.
    call(&gate, of(&stateless())).await.unwrap();
    call(&gate, of(&second)).await.unwrap();
    assert_eq!((approver.asked.lock().len(), book.all_records().len()), (2, 1));
}

#[tokio::test]
async fn what_is_undecided_although_somebody_answered_names_the_command_that_grants_it() {
    let book = book(&Arc::default()).await;
    let gate = connected(policy(ApprovalPolicy::Interactive), &book, &[]).await;
    let error = call(&gate, needing(&SHELL)).await.unwrap_err();
    assert!(error.message().contains("`mgp permissions approve s shell.execute --agent agent`"), "{error}");
}
