use std::time::Duration;

use mgp_types::{AgentGroup, AgentGroups, Error, RunningCalls, code};
use proptest::prelude::*;

use super::*;
use crate::auth::{AuthError, KeyStore};
use crate::limit::Rates;
use crate::scope::SecretDigest;

// covers: GGEN-7-11
#[tokio::test]
async fn a_key_is_known_again_and_no_other_is() {
    let ring = ring();
    let (_, key) = issue(&ring, &[ApiPermission::ToolsListAll]).await;
    let (_, other) = issue(&ring, &[]).await;
    let caller = ring.verify(key.expose()).unwrap();
    assert_eq!(caller.principal, Principal::of(mgp_types::PrincipalKind::KeyHolder, "agent.one"));
    assert!(caller.permissions.contains(&ApiPermission::ToolsListAll));
    let mixed = format!("{}{}", &key.expose()[..21], &other.expose()[21..]);
    let unknown = format!("mgp_{}_{}", "0".repeat(16), &key.expose()[21..]);
    let upper = key.expose().to_uppercase();
    let longer = format!("{}A", key.expose());
    let spaced = format!("{} ", key.expose());
    for wrong in ["", "mgp_", &mixed, &unknown, &upper, &longer, &spaced, &key.expose()[..63], "Bearer x"] {
        assert_eq!(ring.verify(wrong).unwrap_err(), AuthError::Unknown, "{wrong}");
    }
}

#[tokio::test]
async fn nobody_learns_why_a_key_is_wrong() {
    let ring = ring();
    let (info, key) = issue(&ring, &[]).await;
    let wrong_secret = format!("{}{}", &key.expose()[..21], "A".repeat(43));
    let refusal_of = |key: &str| {
        let error = Error::from(ring.verify(key).unwrap_err());
        (error.code(), error.message().to_owned(), error.wire_data())
    };
    let first = refusal_of(&wrong_secret);
    assert_eq!(first.0, code::AUTH_REQUIRED);
    assert_eq!(first, refusal_of("nonsense"));
    ring.revoke(info.id, RunningCalls::Cancel).await.unwrap();
    assert_eq!(first, refusal_of(key.expose()));
}

#[tokio::test]
async fn a_key_that_was_right_before_is_still_told_from_every_other() {
    let ring = ring();
    let (info, key) = issue(&ring, &[]).await;
    let (_, other) = issue(&ring, &[]).await;
    for _ in 0..2 {
        assert!(ring.verify(key.expose()).is_ok());
        assert!(ring.verify(other.expose()).is_ok());
        for place in 0..64 {
            let mut wrong = key.expose().as_bytes().to_vec();
            wrong[place] = if wrong[place] == b'A' { b'B' } else { b'A' };
            let wrong = String::from_utf8(wrong).unwrap();
            assert_eq!(ring.verify(&wrong).unwrap_err(), AuthError::Unknown, "{place}");
        }
        // The secret of one key under the id of another, both of which were right before.
        let mixed = format!("{}{}", &key.expose()[..21], &other.expose()[21..]);
        assert_eq!(ring.verify(&mixed).unwrap_err(), AuthError::Unknown);
    }
    ring.revoke(info.id, RunningCalls::Cancel).await.unwrap();
    assert_eq!(ring.verify(key.expose()).unwrap_err(), AuthError::Unknown);
}

// covers: GGEN-7-01
#[tokio::test]
async fn secrets_are_long_random_and_kept_nowhere() {
    let database = database();
    let ring = KeyRing::open(database.clone(), Clock::system()).unwrap();
    let (info, key) = issue(&ring, &[]).await;
    let (_, other) = issue(&ring, &[]).await;
    let secret = &key.expose()[21..];
    assert_eq!((key.expose().len(), secret.len()), (64, 43));
    assert_ne!(secret, &other.expose()[21..]);
    let kept = KeyStore::new(database).unwrap().load().unwrap();
    let stored = kept.iter().find(|stored| stored.info.id == info.id).unwrap();
    assert_eq!(stored.digest, SecretDigest::of(key.expose()));
    for shown in [format!("{kept:?}"), format!("{key:?}"), format!("{ring:?}"), format!("{info:?}")] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn an_expired_key_says_so_to_who_has_it_and_stays_expired() {
    let hands = ManualClock::default();
    let ring = KeyRing::open(database(), hands.clock()).unwrap();
    let wanted = KeyTerms { expires_at: Some(at(100)), ..KeyTerms::new(Principal::new("a")) };
    let (_, key) = ring.issue(wanted).await.unwrap();
    hands.set(99);
    assert!(ring.verify(key.expose()).is_ok());
    hands.set(100);
    let error = ring.verify(key.expose()).unwrap_err();
    assert_eq!(Error::from(error).code(), code::AUTH_EXPIRED);
    let guessed = format!("{}{}", &key.expose()[..21], "A".repeat(43));
    assert_eq!(ring.verify(&guessed).unwrap_err(), AuthError::Unknown);
    hands.set(50);
    assert_eq!(ring.verify(key.expose()).unwrap_err(), AuthError::Expired);
}

#[tokio::test]
async fn a_revoked_key_is_worthless_at_once() {
    let ring = ring();
    let (info, key) = issue(&ring, &[]).await;
    let (_, other) = issue(&ring, &[]).await;
    assert!(ring.revoke(info.id, RunningCalls::Cancel).await.unwrap());
    assert!(!ring.revoke(info.id, RunningCalls::Cancel).await.unwrap());
    assert_eq!(ring.verify(key.expose()).unwrap_err(), AuthError::Unknown);
    assert!(ring.verify(other.expose()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_key_for_a_group_counts_until_it_is_revoked_or_expires() {
    let (hands, groups) = (ManualClock::default(), AgentGroups::default());
    groups.set(vec![AgentGroup { name: "payments".into(), ..AgentGroup::default() }]);
    let ring = KeyRing::open(database(), hands.clock()).unwrap();
    ring.tell_groups(groups.clone());
    let wanted = |expires_at| {
        let groups = vec!["payments".into()];
        KeyTerms { groups, expires_at, ..KeyTerms::new(Principal::new("a")) }
    };
    let (info, _) = ring.issue(wanted(None)).await.unwrap();
    assert!(groups.of("a").is_some());
    ring.revoke(info.id, RunningCalls::Cancel).await.unwrap();
    assert!(groups.of("a").is_none());
    ring.issue(wanted(Some(at(100)))).await.unwrap();
    assert!(groups.of("a").is_some());
    hands.set(100);
    // The ring looks each second.
    let watch = ring.watch(|| RunningCalls::Cancel);
    assert!(tokio::time::timeout(Duration::from_secs(2), watch).await.is_err());
    assert!(groups.of("a").is_none());
}

// covers: GGEN-7-04, GGEN-7-05
#[tokio::test(start_paused = true)]
async fn a_key_can_have_a_rate_and_only_its_owner_uses_it_up() {
    let ring = ring();
    let rates = Rates::new().per_minute(n(2)).per_hour(n(3));
    let wanted = KeyTerms { rate_limit: Some(rates), ..KeyTerms::new(Principal::new("a")) };
    let (info, key) = ring.issue(wanted).await.unwrap();
    assert_eq!(info.terms.rate_limit, Some(rates));
    let guessed = format!("{}{}", &key.expose()[..21], "A".repeat(43));
    for _ in 0..10 {
        ring.verify(&guessed).unwrap_err();
    }
    assert!(ring.verify(key.expose()).is_ok() && ring.verify(key.expose()).is_ok());
    let error = ring.verify(key.expose()).unwrap_err();
    assert_eq!(error, AuthError::TooOften { wait: Duration::from_secs(30) });
    let refusal = Error::from(error);
    assert_eq!(
        (refusal.code(), refusal.recovery().unwrap().retry_after_ms),
        (code::RATE_LIMITED, Some(30_000))
    );
    tokio::time::advance(Duration::from_mins(1)).await;
    assert!(ring.verify(key.expose()).is_ok());
    let error = ring.verify(key.expose()).unwrap_err();
    assert_eq!(error, AuthError::TooOften { wait: Duration::from_mins(19) });
}

// covers: GGEN-7-03
#[tokio::test(start_paused = true)]
async fn the_last_use_is_known_at_once_and_kept_once_a_minute() {
    let (hands, database) = (ManualClock::default(), database());
    let ring = KeyRing::open(database.clone(), hands.clock()).unwrap();
    let (_, key) = issue(&ring, &[]).await;
    let kept = || KeyStore::new(database.clone()).unwrap().load().unwrap()[0].info.last_used;
    assert_eq!((ring.keys()[0].last_used, kept()), (None, None));
    let noting = tokio::spawn({
        let ring = ring.clone();
        async move { ring.watch(|| RunningCalls::Cancel).await }
    });
    tokio::task::yield_now().await;
    for now in 1..=5 {
        hands.set(now);
        ring.verify(key.expose()).unwrap();
    }
    assert_eq!((ring.keys()[0].last_used, kept()), (Some(at(5)), None));
    tokio::time::sleep(Duration::from_secs(61)).await;
    noting.abort();
    ring.note_uses().await.unwrap();
    assert_eq!(kept(), Some(at(5)));
}

proptest! {
    #[test]
    fn no_text_is_a_key_by_chance(text in "(mgp_)?[0-9a-f_]{0,20}.{0,60}") {
        let ring = ring();
        prop_assert_eq!(ring.verify(&text).unwrap_err(), AuthError::Unknown);
    }
}
