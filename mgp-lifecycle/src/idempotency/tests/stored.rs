//! Keys that outlive the process.

use std::sync::Arc;

use mgp_types::BoxFuture;
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;

use super::*;
use crate::doubles::{KillSwitch, life};
use crate::idempotency::call_table::{KeptCall, KeyLimits};
use crate::idempotency::outcome::Verdict;
use crate::idempotency::store::{CallStore, FirstCall};
use crate::store::{EffectStore, StoreError, Written};
use crate::wall_clock::WallClock;

pub(super) fn book_at(store: impl CallStore + 'static, seconds: i64) -> IdempotencyBook {
    let now = Timestamp::from_millis(1_800_000_000_000 + seconds * 1000).unwrap();
    IdempotencyBook::restored(Arc::new(store), KeyLimits::default(), WallClock::showing(now)).unwrap()
}

pub(super) fn alive<T>(course: impl Future<Output = T>) -> T {
    life(&KillSwitch::after(u64::MAX), course).unwrap()
}

#[test]
fn the_next_process_tells_what_the_last_one_did_until_the_key_expires() {
    let folder = tempfile::tempdir().unwrap();
    let (path, server) = (folder.path().join("effects.db"), counting());
    let mut answers = Vec::new();
    for seconds in [0, 10, 59, 60, 61] {
        alive(async {
            let book = book_at(EffectStore::open(&path).unwrap(), seconds);
            let mut service = service(&book, &server);
            answers.push(split(call(&mut service, pay("k", "{}")).await.unwrap()));
            let other = call(&mut service, pay("k", r#"{"a":1}"#)).await.unwrap_err();
            assert_eq!(reason(&other), "other_arguments");
        });
    }
    let replays: Vec<_> = answers.iter().map(|(key_result, _)| key_result.was_replay).collect();
    assert_eq!(replays, [false, true, true, false, true]);
    assert_eq!(server.calls(), 2);
    assert_eq!(answers[0].1.as_bytes(), answers[2].1.as_bytes());
    assert_eq!(answers[0].0.original_timestamp, answers[2].0.original_timestamp);
}

#[test]
fn errors_and_results_that_are_too_large_are_remembered_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let server = Upstream::answering(|number| match number {
        0 => Err(Error::new(4000, "wrong").with_data(RawJson::parse(r#"{"a":1}"#).unwrap())),
        _ => Ok(Response::new(RawJson::from_text(&"x".repeat(1 << 20)))),
    });
    for _ in 0..2 {
        alive(async {
            let book = book_at(EffectStore::open(&path).unwrap(), 0);
            let mut service = service(&book, &server);
            let error = call(&mut service, pay("wrong", "{}")).await.unwrap_err();
            assert_eq!((error.code(), error.data().unwrap().as_bytes()), (4000, &br#"{"a":1}"#[..]));
            drop(call(&mut service, pay("large", "{}")).await);
        });
    }
    alive(async {
        let book = book_at(EffectStore::open(&path).unwrap(), 0);
        let error = call(&mut service(&book, &server), pay("large", "{}")).await.unwrap_err();
        assert_eq!(reason(&error), "result_not_kept");
    });
    assert_eq!(server.calls(), 2);
}

#[test]
fn a_call_that_ran_when_the_process_ended_is_never_made_again_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("effects.db");
    let server = Upstream::working(|_, _| std::future::pending());
    let dies = KillSwitch::after(0);
    let end = life(&dies, async {
        let book = book_at(EffectStore::open(&path).unwrap(), 0);
        let mut service = service(&book, &server);
        let running = tokio::spawn(async move { call(&mut service, pay("k", "{}")).await });
        while server.calls() == 0 {
            tokio::task::yield_now().await;
        }
        dies.point().await;
        drop(running);
    });
    assert!(end.is_none());
    alive(async {
        let book = book_at(EffectStore::open(&path).unwrap(), 30);
        let error = call(&mut service(&book, &server), pay("k", "{}")).await.unwrap_err();
        assert_eq!(reason(&error), "outcome_unknown");
    });
    assert_eq!(server.calls(), 1);
}

/// A store on a full disk; it reads as if it were empty.
#[derive(Debug)]
struct FullDisk {
    takes_beginnings: bool,
}

impl FullDisk {
    fn write(takes: bool) -> Written {
        Box::pin(std::future::ready(if takes { Ok(1) } else { Err(StoreError::Full) }))
    }
}

impl CallStore for FullDisk {
    fn load(&self, _: Timestamp) -> Result<Vec<KeptCall>, StoreError> {
        Ok(Vec::new())
    }

    fn begin(&self, _: FirstCall, _: Vec<Digest>) -> Written {
        Self::write(self.takes_beginnings)
    }

    fn end(&self, _: FirstCall, _: Verdict, _: Option<RawJson>) -> Written {
        Self::write(false)
    }

    fn outcome(&self, _: Digest) -> BoxFuture<'static, Result<Option<RawJson>, StoreError>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

#[tokio::test]
async fn nothing_is_done_where_the_key_cannot_be_kept() {
    let server = counting();
    let book = book_at(FullDisk { takes_beginnings: false }, 0);
    let mut service = service(&book, &server);
    let error = call(&mut service, pay("k", "{}")).await.unwrap_err();
    assert_eq!(error.code(), 3001);
    assert!(error.message().contains("disk is full"), "{error}");
    assert!(error.is_not_executed());
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn an_effect_that_is_there_is_told_even_if_its_outcome_cannot_be_stored() {
    let server = counting();
    let book = book_at(FullDisk { takes_beginnings: true }, 0);
    let mut service = service(&book, &server);
    assert!(!split(call(&mut service, pay("k", "{}")).await.unwrap()).0.was_replay);
    assert!(split(call(&mut service, pay("k", "{}")).await.unwrap()).0.was_replay);
    assert_eq!(server.calls(), 1);
}
