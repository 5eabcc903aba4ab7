use mgp_types::RunningCalls;

use super::*;
use crate::auth::AuthError;
use crate::doubles::shared_databases;
use crate::limit::Rates;
use mgp_store::Database;

// covers: GGEN-7-01, GGEN-7-02
#[tokio::test]
async fn keys_outlive_the_process_with_all_that_is_known_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let (hands, open) = (ManualClock::default(), || Database::open(&path).unwrap());
    let ring = KeyRing::open(open(), hands.clock()).unwrap();
    let wanted = KeyTerms {
        owner: Principal::operator("admin"),
        permissions: ApiPermissions::new([
            ApiPermission::ToolInvoke("*.it's".parse().unwrap()),
            ApiPermission::ToolRead("*.r".parse().unwrap()),
            ApiPermission::ToolsListAll,
            ApiPermission::AdminWrite,
            ApiPermission::AdminRead,
        ]),
        rate_limit: Some(Rates::new().per_minute(n(3)).per_hour(n(9))),
        groups: vec!["payments".into()],
        label: "for the demo".to_owned(),
        expires_at: Some(at(1000)),
    };
    let (info, key) = ring.issue(wanted).await.unwrap();
    let (gone, _) = ring.issue(KeyTerms::new(Principal::new("a"))).await.unwrap();
    ring.revoke(gone.id, RunningCalls::Cancel).await.unwrap();
    hands.set(7);
    ring.verify(key.expose()).unwrap();
    ring.note_uses().await.unwrap();
    drop(ring);

    let ring = KeyRing::open(open(), hands.clock()).unwrap();
    let mut expected = info;
    expected.last_used = Some(at(7));
    assert_eq!(ring.keys(), [expected]);
    assert_eq!(
        &ring.verify(key.expose()).unwrap().principal,
        &Principal::of(mgp_types::PrincipalKind::KeyOperator, "admin")
    );
    drop(ring);
    let secret = &key.expose().as_bytes()[21..];
    for file in std::fs::read_dir(directory.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    }
}

#[tokio::test]
async fn a_key_that_was_tampered_with_opens_no_ring() {
    for broken in [
        "UPDATE api_keys SET permissions = '[\"Everything\"]'",
        "UPDATE api_keys SET rate_limit = '{\"requests_per_minute\":0}'",
        "UPDATE api_keys SET member_of = 'payments'",
        "UPDATE api_keys SET id = 'x'",
        "UPDATE api_keys SET expires_at = 9223372036854775807",
        "PRAGMA ignore_check_constraints = ON; UPDATE api_keys SET role = 'root'",
        "PRAGMA ignore_check_constraints = ON; UPDATE api_keys SET digest = x'00'",
    ] {
        let database = Database::in_memory().unwrap();
        let ring = KeyRing::open(database.clone(), Clock::system()).unwrap();
        ring.issue(KeyTerms { rate_limit: Some(Rates::new()), ..KeyTerms::new(Principal::new("a")) })
            .await
            .unwrap();
        database.connection().execute_batch(broken).unwrap();
        assert!(KeyRing::open(database, Clock::system()).is_err(), "{broken}");
    }
}

#[tokio::test]
async fn a_key_revoked_at_one_kernel_ends_at_the_other_with_all_that_it_opened() {
    let databases = shared_databases::<2>();
    let [one, other] =
        databases.each_ref().map(|database| KeyRing::open(database.clone(), Clock::system()).unwrap());
    let follow = async || {
        assert!(databases[1].catch_up().unwrap().contains("auth"));
        other.reload().await.unwrap();
    };
    let (info, key) = issue(&one, &[]).await;
    assert_eq!(other.verify(key.expose()).unwrap_err(), AuthError::Unknown);
    follow().await;
    let caller = other.verify(key.expose()).unwrap();
    assert!(one.revoke(info.id, RunningCalls::Cancel).await.unwrap());
    follow().await;
    assert_eq!(other.verify(key.expose()).unwrap_err(), AuthError::Unknown);
    assert_eq!(caller.validity.ended(), Some(RunningCalls::Cancel));
    // Who knows the id of a key revokes it where nobody has heard of it yet.
    let (info, key) = issue(&one, &[]).await;
    assert!(other.revoke(info.id, RunningCalls::Cancel).await.unwrap());
    databases[0].catch_up().unwrap();
    one.reload().await.unwrap();
    assert_eq!(one.verify(key.expose()).unwrap_err(), AuthError::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_key_keeps_its_counts_while_another_kernel_changes_keys_and_ends_when_that_says() {
    let (databases, hands) = (shared_databases::<2>(), ManualClock::default());
    let [one, other] =
        databases.each_ref().map(|database| KeyRing::open(database.clone(), hands.clock()).unwrap());
    let follow = async || {
        databases[1].catch_up().unwrap();
        other.reload().await.unwrap();
    };
    let rates = Some(Rates::new().per_minute(n(1)));
    let wanted = KeyTerms { rate_limit: rates, ..KeyTerms::new(Principal::new("a")) };
    let (info, key) = one.issue(wanted).await.unwrap();
    follow().await;
    let caller = other.verify(key.expose()).unwrap();
    issue(&one, &[]).await;
    follow().await;
    assert!(matches!(other.verify(key.expose()), Err(AuthError::TooOften { .. })));
    one.end_at(info.id, at(100)).await.unwrap();
    // A later end that was set at the same time at the other kernel does not take its place.
    other.end_at(info.id, at(200)).await.unwrap();
    follow().await;
    assert_eq!(caller.validity.ended(), None);
    hands.set(100);
    assert_eq!(other.verify(key.expose()).unwrap_err(), AuthError::Expired);
}
