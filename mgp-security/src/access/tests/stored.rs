use mgp_types::mgp::AccessPermission::{Allow, Deny};

use super::*;
use crate::StoreError;
use crate::doubles::shared_databases;

#[tokio::test]
async fn entries_outlive_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let open = || AccessPolicy::open(kept_in(&Database::open(&path).unwrap())).unwrap();
    let policy = open();
    let until = grant("a", "s", Some("t"), Allow).with_expires_at("2999-01-01T00:00:00Z".parse().ok());
    let until = until.with_granted_by("label").with_justification("it's \"needed\"\0");
    let stored = policy.grant(&admin(), None, until).await.unwrap();
    policy.grant(&admin(), None, grant("a", "s", None, Deny)).await.unwrap();
    policy.grant(&admin(), None, grant("b", "s", None, Allow)).await.unwrap();
    policy.revoke(&admin(), None, revoke("b", "s", None)).await.unwrap();
    drop(policy);
    let policy = open();
    assert!(policy.decide("a", "s", Some("t")).allows());
    assert!(!policy.decide("a", "s", Some("u")).allows());
    assert!(!policy.decide("b", "s", None).allows());
    let loaded = policy.entries();
    assert_eq!(loaded.len(), 2);
    assert!(loaded.contains(&stored));
    // A number is never given twice, though the entry that had the last one is gone.
    let newer = policy.grant(&admin(), None, grant("c", "s", None, Allow)).await.unwrap();
    assert_eq!(newer.id, 4);
}

#[tokio::test]
async fn an_entry_that_was_tampered_with_opens_no_policy() {
    let broken = [
        "UPDATE access_entries SET granted_at = 9223372036854775807",
        "UPDATE access_entries SET expires_at = -9223372036854775807",
        "PRAGMA ignore_check_constraints = ON; UPDATE access_entries SET permission = 'ALLOW'",
    ];
    for broken in broken {
        let database = Database::in_memory().unwrap();
        let open = || AccessPolicy::open(kept_in(&database));
        open().unwrap().grant(&admin(), None, grant("a", "s", None, Deny)).await.unwrap();
        database.connection().execute_batch(broken).unwrap();
        let error = open().unwrap_err();
        assert!(matches!(error, StoreError::Damaged(_)), "{broken}: {error}");
    }
}

#[tokio::test]
async fn what_is_denied_at_one_kernel_is_denied_at_the_other() {
    let databases = shared_databases::<2>();
    let [one, other] = databases.each_ref().map(|database| AccessPolicy::open(kept_in(database)).unwrap());
    let follow = async || {
        databases[1].catch_up().unwrap();
        other.reload().await.unwrap()
    };
    let granted = one.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    assert!(!other.decide("a", "s", None).allows());
    assert_eq!(follow().await, [Arc::clone(&granted)]);
    assert!(other.decide("a", "s", None).allows());
    let before = other.revision();
    let denied = one.grant(&admin(), None, grant("a", "s", None, Deny)).await.unwrap();
    assert_eq!(follow().await, [denied, granted]);
    assert!(!other.decide("a", "s", None).allows() && other.revision() != before);
    assert!(follow().await.is_empty());
}

#[tokio::test]
async fn an_entry_is_revoked_at_a_kernel_that_has_not_heard_of_it_yet() {
    let databases = shared_databases::<2>();
    let [one, other] = databases.each_ref().map(|database| AccessPolicy::open(kept_in(database)).unwrap());
    let granted = one.grant(&admin(), None, grant("a", "s", Some("t"), Allow)).await.unwrap();
    let revoked = other.revoke(&admin(), None, revoke("a", "s", Some("t"))).await.unwrap();
    assert_eq!(revoked.as_ref(), Some(&granted));
    databases[0].catch_up().unwrap();
    assert_eq!(one.reload().await.unwrap(), [granted]);
    assert!(!one.decide("a", "s", Some("t")).allows());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_entry_that_another_kernel_made_is_told() {
    let (databases, hands) = (shared_databases::<2>(), ManualClock::at(500));
    let [one, other] = databases.each_ref().map(|database| {
        AccessPolicy::open(AccessPolicySettings { clock: hands.clock(), ..kept_in(database) }).unwrap()
    });
    let mut endings = other.endings();
    let ended = tokio::spawn(async move { endings.next().await });
    let until = grant("a", "s", None, Allow).with_expires_at(Some(at(1_500)));
    let stored = one.grant(&admin(), None, until).await.unwrap();
    databases[1].catch_up().unwrap();
    other.reload().await.unwrap();
    hands.set(2_000);
    assert_eq!(ended.await.unwrap(), [stored]);
}
