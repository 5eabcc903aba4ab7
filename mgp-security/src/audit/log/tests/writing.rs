use mgp_types::code;
use mgp_types::mgp::{Actor, ActorType, EventType};

use super::*;
use crate::doubles::{fill, make_room};
use mgp_store::Database;

/// Returns a log, the database by which it can be held up, and a count of its transactions.
fn gated(capacity: usize) -> (AuditLog, Database, impl Fn() -> i64) {
    let database = database();
    let store = LogStore::new(database.clone()).unwrap();
    let count = "CREATE TEMP TABLE commits (id INTEGER PRIMARY KEY);
        CREATE TEMP TRIGGER first AFTER INSERT ON audit_head BEGIN INSERT INTO commits VALUES (NULL); END;
        CREATE TEMP TRIGGER further AFTER UPDATE ON audit_head BEGIN INSERT INTO commits VALUES (NULL); END";
    database.connection().execute_batch(count).unwrap();
    let counted = database.clone();
    let commits = move || {
        let connection = counted.connection();
        connection.query_row("SELECT count(*) FROM commits", [], |row| row.get(0)).unwrap()
    };
    let settings = AuditLogSettings { capacity, ..AuditLogSettings::default() };
    (AuditLog::with_settings(store, settings).unwrap(), database, commits)
}

#[tokio::test]
async fn everything_that_waits_is_one_commit() {
    let (log, database, commits) = gated(1_000);
    let held = hold(&database);
    let records: Vec<_> = (1..=100).map(|number| log.record(sample::event(number))).collect();
    drop(held);
    for record in records {
        record.await.unwrap();
    }
    assert_eq!(log.head().seq, 100);
    assert!(commits() <= 2, "{}", commits());
}

#[tokio::test]
async fn a_record_is_done_when_it_is_durable_or_when_it_is_taken() {
    let (log, database, _) = gated(1_000);
    let held = hold(&database);
    let mut durable = log.record(sample::event(1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(durable.as_mut().poll(&mut context).is_pending());
    log.clone().with_durability(Durability::Async).record(sample::event(2)).await.unwrap();
    assert_eq!(log.head().seq, 0);
    drop(held);
    durable.await.unwrap();
    log.flush().await.unwrap();
    assert_eq!(log.head().seq, 2);
}

#[tokio::test]
async fn only_what_nobody_has_to_wait_for_is_taken_at_once() {
    let (log, database, _) = gated(4);
    let queued = log.clone().with_durability(Durability::Async);
    let held = hold(&database);
    let pair = || vec![sample::event(1), sample::event(2)];
    assert_eq!(log.try_record(pair()).unwrap_err(), pair(), "it would not be durable yet");
    for _ in 0..4 {
        queued.try_record(pair()).unwrap();
    }
    assert_eq!(queued.try_record(pair()).unwrap_err(), pair(), "there is no room");
    drop(held);
    log.flush().await.unwrap();
    assert_eq!(log.head().seq, 8);
    log.inner.state.queue.close();
    assert_eq!(queued.try_record(pair()).unwrap_err(), pair(), "nobody would write it");
}

#[tokio::test]
async fn what_nobody_waits_for_is_written_together_and_soon() {
    let (log, _, commits) = gated(1_000);
    let mut written = log.subscribe(0);
    let log = log.with_durability(Durability::Async);
    let started = tokio::time::Instant::now();
    record(&log, 1..=100).await;
    while written.position() < 100 {
        assert!(written.next().await.unwrap().is_some());
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(5), "nobody had to ask for it");
    assert!(commits() <= 10, "{}", commits());
}

#[tokio::test]
async fn who_finds_no_room_waits_and_loses_nothing() {
    let (log, database, _) = gated(4);
    let log = log.with_durability(Durability::Async);
    let held = hold(&database);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut waiting = Vec::new();
    for number in 1..=10 {
        let mut record = log.record(sample::event(number));
        let is_taken = record.as_mut().poll(&mut context).is_ready();
        assert_eq!(is_taken, number <= 4, "{number}");
        if !is_taken {
            waiting.push(record);
        }
    }
    // Two that wait are given up, and go in all the same.
    drop(waiting.drain(..2));
    drop(held);
    for record in waiting {
        record.await.unwrap();
    }
    log.flush().await.unwrap();
    assert_eq!(log.head().seq, 10);
}

#[tokio::test]
async fn what_cannot_wait_is_bounded_too_and_what_is_lost_is_counted() {
    let (log, database, _) = gated(4);
    let held = hold(&database);
    for number in 1..=12 {
        let mut event = sample::event(number);
        event.ends = Some(number);
        log.record_now(vec![event]);
    }
    let error = log.open(&Object::new).unwrap_err();
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    drop(held);
    let _ = log.flush().await;
    log.flush().await.unwrap();
    log.open(&Object::new).unwrap();
    let events = log.reader().query(&Query::after(Filter::default(), 0, 50)).unwrap();
    assert_eq!(events.len(), 9, "eight, and the one that tells of the rest");
    let gap =
        events.iter().map(|entry| entry.to_event().unwrap()).find(|event| event.event_type.as_str() == GAP);
    let gap = gap.unwrap();
    assert_eq!(gap.details.bytes("unrecorded_events").unwrap(), b"4");
}

#[tokio::test]
async fn a_source_that_floods_the_log_keeps_nobody_elses_calls_out() {
    let (log, database, _) = gated(8);
    let held = hold(&database);
    let of = |source: &str, number| {
        let mut event = sample::event(number);
        event.actor = Actor::new(ActorType::Server, source);
        event
    };
    for number in 1..=100 {
        log.record_now(vec![of("flood", number)]);
    }
    log.open(&Object::new).unwrap();
    log.record_now(vec![of("quiet", 101)]);
    drop(held);
    log.flush().await.unwrap();
    log.flush().await.unwrap();
    let events = log.reader().query(&Query::after(Filter::default(), 0, 200)).unwrap();
    let events: Vec<_> = events.iter().map(|entry| entry.to_event().unwrap()).collect();
    let of = |source: &str| events.iter().filter(|event| event.actor.id == source).count();
    assert_eq!((of("flood"), of("quiet")), (4, 1));
    let gaps = events.iter().filter(|event| event.event_type.as_str() == GAP);
    let left_out = gaps.map(|gap| gap.details.get("unrecorded_events").unwrap().to::<u64>().unwrap());
    assert_eq!(left_out.sum::<u64>(), 96);
}

#[tokio::test]
async fn closing_the_log_writes_what_waits() {
    let database = database();
    let log =
        AuditLog::open(LogStore::new(database.clone()).unwrap()).unwrap().with_durability(Durability::Async);
    record(&log, 1..=200).await;
    drop(log);
    assert_eq!(LogStore::new(database).unwrap().tail().unwrap().head.unwrap().seq, 200);
}

#[tokio::test]
async fn a_writer_that_dies_leaves_nobody_waiting() {
    let log = log_at(Clock::new(|| panic!("a fault of the clock")));
    assert!(log.retain(Retention::SizeBased(0), u64::MAX).await.is_err());
    assert_eq!(log.record(sample::event(1)).await.unwrap_err().code(), code::INTERNAL_ERROR);
    assert!(log.record(sample::event(2)).await.is_err());
    assert!(log.flush().await.is_err());
    assert!(log.retain(Retention::SizeBased(0), u64::MAX).await.is_err());
    assert!(log.open(&Object::new).is_err());
    assert!(log.with_durability(Durability::Async).record(sample::event(3)).await.is_err());
}

#[tokio::test]
async fn what_an_operator_did_is_durable_before_it_counts() {
    let log = log().with_durability(Durability::Async);
    log.record(sample::event(1)).await.unwrap();
    assert_eq!(log.head().seq, 0, "a call may be lost for a moment");
    let mut act = sample::event(2);
    act.actor = Actor::new(ActorType::Operator, "ada");
    let refused = log.try_record(vec![act]).unwrap_err();
    log.record_all(refused).await.unwrap();
    assert_eq!(log.head().seq, 2);
}

#[tokio::test]
async fn on_a_full_disk_what_an_operator_takes_away_is_written_and_nothing_else() {
    let (database, folder) = (database(), tempfile::tempdir().unwrap());
    let reserve = Some(Reserve::open(&folder.path().join("reserve")));
    let settings = AuditLogSettings { reserve, ..AuditLogSettings::default() };
    let log = AuditLog::with_settings(LogStore::new(database.clone()).unwrap(), settings).unwrap();
    fill(&database, "audit_events", "NEW.event_type <> 'ACCESS_REVOKED'");
    log.clone().with_durability(Durability::Async).record(sample::event(1)).await.unwrap();
    assert!(log.flush().await.is_err());
    assert!(log.fault().is_some());
    let mut revoked = sample::event(2);
    revoked.event_type = EventType::AccessRevoked;
    assert!(log.record(revoked.clone()).await.is_err(), "agents take nothing away");
    revoked.actor = Actor::new(ActorType::Operator, "ada");
    log.record(revoked).await.unwrap();
    assert_eq!(log.head().seq, 1);
    let refused = log.open(&Object::new).unwrap_err();
    assert_eq!(refused.recovery().unwrap().retry_after_ms, Some(60_000));
    make_room(&database);
    log.flush().await.unwrap();
    assert!(log.fault().is_none());
    log.open(&Object::new).unwrap();
    assert_eq!(
        log.reader().verify(&[]).unwrap().events,
        3,
        "the first is kept, and one tells of what was lost"
    );
}

#[test]
fn a_caller_who_does_not_come_back_is_not_waited_for_long() {
    let queue = queue::Queue::new(100);
    let mut jobs = Vec::new();
    for waiting in [3, 1] {
        let push = |_| queue.push(Job::Flush(oneshot::channel().0));
        (0..waiting).for_each(push);
        assert!(queue.take(&mut jobs, None));
        assert_eq!(jobs.drain(..).count(), waiting);
    }
}
