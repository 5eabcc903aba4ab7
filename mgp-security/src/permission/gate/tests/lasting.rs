//! How long what was decided holds.

use super::*;

#[tokio::test]
async fn a_grant_ends_when_it_says_and_a_clock_put_back_does_not_revive_it() {
    let hands = ManualClock::at(1000);
    let store = FailingGrantStore::default();
    let open = || GrantBook::open(store.clone(), Arc::<RecordingAuditPort>::default(), hands.clock());
    let book = open().await.unwrap();
    book.grant(&ada(), &"s".into(), &SHELL, GrantTerms::default().until(moment(2000))).await.unwrap();
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
    let store = FailingGrantStore::default();
    let book = GrantBook::open(store, Arc::<RecordingAuditPort>::default(), hands.clock()).await.unwrap();
    let terms = GrantTerms::default().until(moment(2000));
    let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), Decision::Denied).with_terms(terms));
    let gate = PermissionGate::new("s".into(), PermissionSettings::default(), book.clone())
        .with_approver(approver.clone());
    let session = session(Revision::V2025_11_25, mgp_types::mgp::MgpVersion::OURS, &[]);
    gate.negotiate(&mut TestServer::new(), &session).await.unwrap();
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
    let terms = GrantTerms::default().lasting(GrantLifetime::Once);
    let approver = AnsweringApprover::with(ApprovalAnswer::new(ada(), Decision::Approved).with_terms(terms));
    let gate = PermissionGate::new("s".into(), PermissionSettings::default(), book.clone())
        .with_approver(approver.clone());
    let session = session(Revision::V2025_11_25, mgp_types::mgp::MgpVersion::OURS, &[]);
    gate.negotiate(&mut TestServer::new(), &session).await.unwrap();
    for asked in 1..=2 {
        call(&gate, needing(&SHELL)).await.unwrap();
        assert_eq!(approver.asked.lock().len(), asked);
        assert!(!book.is_granted(gate.server(), &SHELL), "nothing is left of it");
    }
}
