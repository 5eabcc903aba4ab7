use std::time::Duration;

use super::*;
use crate::audit::log::store::Checkpoint;

fn at(number: u32) -> Clock {
    let now = sample::event(number).timestamp;
    Clock::new(move || now)
}

#[tokio::test]
async fn what_is_too_old_is_removed_and_the_rest_is_still_proved() {
    let log = log_at(at(100));
    record(&log, 1..=100).await;
    let kept = log.head();
    assert_eq!(log.retain(Retention::TimeBased(Duration::from_secs(10)), u64::MAX).await.unwrap(), 89);
    let left = numbers(&log, &Query::after(Filter::default(), 0, 50));
    assert_eq!(left, (90..=101).collect::<Vec<_>>());
    let note = log.reader().query(&Query::after(Filter::default(), 100, 1)).unwrap()[0].to_event().unwrap();
    assert_eq!(note.event_type.as_str(), PRUNED);
    assert_eq!(note.details.bytes("removed").unwrap(), b"89");
    assert_eq!(note.details.text("reason").unwrap(), "time_based");
    let verified = log.reader().verify(&[kept]).unwrap();
    assert_eq!((verified.events, verified.head), (12, log.head()));
    record(&log, 101..=120).await;
    assert_eq!(log.retain(Retention::TimeBased(Duration::from_secs(0)), u64::MAX).await.unwrap(), 10);
    log.reader().verify(&[kept]).unwrap();
}

#[tokio::test]
async fn what_is_too_large_is_removed_from_the_oldest_on() {
    let log = log();
    record(&log, 1..=50).await;
    let entries = log.reader().query(&Query::after(Filter::default(), 40, 50)).unwrap();
    let bytes: usize = entries.iter().map(|entry| entry.event.as_bytes().len()).sum();
    assert_eq!(log.retain(Retention::SizeBased(bytes as u64), u64::MAX).await.unwrap(), 40);
    assert_eq!(numbers(&log, &Query::after(Filter::default(), 0, 50)), (41..=51).collect::<Vec<_>>());
    assert_eq!(log.retain(Retention::SizeBased(u64::MAX), u64::MAX).await.unwrap(), 0);
    assert_eq!(log.retain(Retention::SizeBased(0), u64::MAX).await.unwrap(), 11);
    assert_eq!(numbers(&log, &Query::after(Filter::default(), 0, 50)), [52]);
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn events_that_are_still_needed_stay_whatever_the_rule_says() {
    let log = log();
    record(&log, 1..=50).await;
    assert_eq!(log.retain(Retention::SizeBased(0), 0).await.unwrap(), 0);
    assert_eq!(log.retain(Retention::SizeBased(0), 30).await.unwrap(), 30);
    assert_eq!(numbers(&log, &Query::after(Filter::default(), 0, 50)), (31..=51).collect::<Vec<_>>());
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn an_empty_log_has_nothing_to_remove() {
    let log = log();
    for rule in [Retention::SizeBased(0), Retention::TimeBased(Duration::ZERO)] {
        assert_eq!(log.retain(rule, u64::MAX).await.unwrap(), 0);
    }
    assert_eq!(log.head().seq, 0);
    assert_eq!(log.reader().verify(&[]).unwrap().events, 0);
}

#[tokio::test]
async fn a_clock_that_is_ahead_does_not_empty_the_log() {
    let log = log_at(at(1_000_000));
    record(&log, 1..=20).await;
    assert_eq!(log.retain(Retention::TimeBased(Duration::from_mins(1)), u64::MAX).await.unwrap(), 0);
}

#[tokio::test]
async fn many_events_are_removed_in_steps() {
    let log = log().with_durability(Durability::Async);
    for chunk in 0..25 {
        let events = (0..1_000).map(|number| sample::event(chunk * 1_000 + number)).collect();
        log.record_all(events).await.unwrap();
    }
    assert_eq!(log.retain(Retention::SizeBased(0), u64::MAX).await.unwrap(), 25_002);
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn a_beginning_that_no_event_tells_of_is_found() {
    let all = entries(10);
    let (gone, left) = all.split_at(4);
    let store = super::store();
    store.append(left).unwrap();
    let verify = |store: LogStore| store.verify(&[]);
    let missing = verify(store).unwrap_err();
    assert!(matches!(missing, VerifyError::Changed { seq: 5, flaw: LogFlaw::Missing }), "{missing}");
    // A checkpoint alone proves nothing: its event is an ordinary one here.
    let store = super::store();
    store.append(&all[..9]).unwrap();
    let checkpoint =
        Checkpoint { end: gone[3].head(), removed: 4, reason: "time_based".to_owned(), announced_by: 10 };
    store.forget(&checkpoint, &all[9]).unwrap();
    let untold = verify(store).unwrap_err();
    assert!(matches!(untold, VerifyError::Changed { seq: 5, flaw: LogFlaw::Checkpoint }), "{untold}");
}
