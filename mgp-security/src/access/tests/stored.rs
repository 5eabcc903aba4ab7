use mgp_types::mgp::AccessPermission::{Allow, Deny};

use super::*;
use crate::StoreError;

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
