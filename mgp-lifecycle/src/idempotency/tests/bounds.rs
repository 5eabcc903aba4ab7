//! Keys in numbers.

use std::collections::HashSet;

use mgp_types::mgp::Timestamp;

use super::*;
use crate::doubles::{each_seed, secs};
use crate::idempotency::call_table::{CallTable, KeptCall, KeptOutcome, KeptState, KeyLimits};
use crate::idempotency::layer::KeyedCall;
use crate::wall_clock::WallClock;

fn keyed(caller: u64, key: u64, ttl: i64) -> KeyedCall {
    let mut request = pay(&format!("k{key}"), "{}");
    request.context.principal = Some(Principal::new(format!("agent-{caller}")));
    let mut call = KeyedCall::of(&request).unwrap().unwrap();
    call.key_terms.ttl = mgp_types::ext::IdempotencyTtl::nearest(ttl);
    call
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000).unwrap()
}

fn limits(keys_of_caller: usize, keys: usize) -> KeyLimits {
    KeyLimits { keys_of_caller, keys, ..KeyLimits::default() }
}

fn done(bytes: u64) -> KeptState {
    KeptState::Done { outcome: KeptOutcome::Here(RawJson::empty_object()), bytes }
}

// covers: EXT-05-08
#[tokio::test(start_paused = true)]
async fn a_caller_with_too_many_keys_waits_for_the_first_to_expire_and_loses_none() {
    let server = counting();
    let table = CallTable::new(limits(10, 100));
    let book = IdempotencyBook::with_parts(table, None, WallClock::system());
    let mut service = service(&book, &server);
    for key in 0..10 {
        call(&mut service, pay(&format!("k{key}"), "{}")).await.unwrap();
        tokio::time::advance(secs(1)).await;
    }
    let error = call(&mut service, pay("one-more", "{}")).await.unwrap_err();
    assert_eq!(error.code(), 3001);
    assert!(error.is_not_executed());
    assert_eq!(error.recovery().unwrap().retry_after_ms, Some(50_000));
    for key in 0..10 {
        let (key_result, _) = split(call(&mut service, pay(&format!("k{key}"), "{}")).await.unwrap());
        assert!(key_result.was_replay, "k{key} still holds");
    }
    let mut other = pay("one-more", "{}");
    other.context.principal = Some(Principal::new("bob"));
    call(&mut service, other).await.unwrap();
    tokio::time::advance(secs(50)).await;
    call(&mut service, pay("one-more", "{}")).await.unwrap();
    assert_eq!(server.calls(), 12);
}

#[test]
fn all_callers_together_have_a_bound_and_what_expired_makes_room() {
    let mut table = CallTable::new(limits(10, 30));
    for caller in 0..30 {
        let call = keyed(caller, 0, 10 + i64::try_from(caller).unwrap());
        table.begin(&call, at(0)).unwrap();
        table.end(call.id, done(2));
    }
    assert_eq!(table.begin(&keyed(99, 0, 60), at(5)).unwrap_err(), secs(5));
    let begun = table.begin(&keyed(99, 0, 60), at(12)).unwrap();
    assert_eq!(begun.expired.len(), 3, "the keys of other callers that have expired are forgotten");
    assert!(table.known(&keyed(29, 0, 60), at(12)).is_some());
    assert_eq!(table.begin(&keyed(98, 0, 60), at(12)).map(|_| ()), Ok(()));
    assert_eq!(table.begin(&keyed(97, 0, 60), at(12)).map(|_| ()), Ok(()));
    assert_eq!(table.begin(&keyed(96, 0, 60), at(12)).unwrap_err(), secs(1));
}

#[test]
fn outcomes_are_counted_by_their_bytes() {
    let small = KeyLimits { bytes_of_caller: 100, bytes: 150, ..KeyLimits::default() };
    let mut table = CallTable::new(small);
    for (caller, key) in [(0, 0), (0, 1)] {
        let call = keyed(caller, key, 10);
        table.begin(&call, at(0)).unwrap();
        table.end(call.id, done(60));
    }
    assert_eq!(table.begin(&keyed(0, 2, 10), at(4)).unwrap_err(), secs(6));
    let call = keyed(1, 0, 10);
    table.begin(&call, at(4)).unwrap();
    table.end(call.id, done(60));
    assert_eq!(table.begin(&keyed(2, 0, 10), at(4)).unwrap_err(), secs(6));
    table.begin(&keyed(2, 0, 10), at(10)).unwrap();
}

#[test]
fn the_table_holds_what_a_simple_one_holds_whatever_comes() {
    let outcomes = each_seed(200, async |mut random| {
        let mut table = CallTable::new(limits(8, 20));
        let (mut now, mut running, mut refused) = (0, HashSet::new(), 0);
        // The model: each key that holds, with its caller and when it expires.
        let mut model: Vec<(KeyedCall, i64)> = Vec::new();
        for _ in 0..300 {
            now += i64::try_from(random.below(3)).unwrap();
            let ttl = i64::try_from(1 + random.below(30)).unwrap();
            let call = keyed(random.below(4), random.below(12), ttl);
            let held = model
                .iter()
                .find(|(one, ends)| one.id == call.id && (running.contains(&one.id) || *ends > now));
            match (table.known(&call, at(now)), held) {
                (Some(KeptCall { state: KeptState::Running(_), .. }), Some((one, _))) => {
                    assert!(running.remove(&one.id));
                    match random.below(3) {
                        0 => {
                            table.remove(&call.id);
                            model.retain(|(one, _)| one.id != call.id);
                        }
                        1 => table.end(call.id, KeptState::Unknown),
                        _ => table.end(call.id, done(2)),
                    }
                }
                (Some(KeptCall { state: KeptState::Done { .. } | KeptState::Unknown, .. }), Some(_)) => {}
                (None, None) => {
                    model.retain(|(one, ends)| running.contains(&one.id) || *ends > now);
                    let own = model.iter().filter(|(one, _)| one.caller == call.caller).count();
                    match table.begin(&call, at(now)) {
                        Ok(_) => {
                            assert!(own < 8 && model.len() < 20, "a bound was passed");
                            running.insert(call.id);
                            model.push((call, now + ttl));
                        }
                        Err(wait) => {
                            assert!(own >= 8 || model.len() >= 20, "refused with room");
                            assert!(wait >= secs(1));
                            refused += 1;
                        }
                    }
                }
                (known, held) => panic!("known {known:?}, held {held:?}"),
            }
        }
        refused
    });
    assert!(!crate::doubles::is_whole() || outcomes.iter().sum::<u32>() > 100, "bounds were reached");
}
