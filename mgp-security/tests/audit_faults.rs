//! What becomes of the audit log when the process, the disk or another process goes wrong.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this file is tests, and one of them reports on stdout"
)]

use std::collections::HashSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use mgp_security::StoreError;
use mgp_security::audit::{AuditLog, Durability, Filter, GAP, LogStore, Query, VerifyError};
use mgp_store::Database;
use mgp_types::code;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditPort, AuditTarget, EventType, Outcome, Timestamp, TraceId,
};

fn event(number: u64) -> AuditEvent {
    AuditEvent::new(
        Timestamp::now(),
        TraceId::from_u128(u128::from(number) + 1).unwrap(),
        EventType::ToolExecuted,
        Actor::new(ActorType::Agent, "agent.test"),
        AuditTarget::new(Some("tool.terminal".into()), Some("execute_command".into())),
        Outcome::Success,
    )
    .with_detail("number", &number)
}

fn open(path: &Path) -> AuditLog {
    AuditLog::open(LogStore::open(path).unwrap()).unwrap()
}

fn numbers(reader: &LogStore) -> Vec<u64> {
    let (mut after, mut numbers) = (0, Vec::new());
    loop {
        let page = reader.query(&Query::after(Filter::default(), after, 1_000)).unwrap();
        let Some(last) = page.last() else { return numbers };
        after = last.seq;
        let of = |event: AuditEvent| Some(event.details.get("number")?.to::<u64>().unwrap());
        numbers.extend(page.iter().filter_map(|entry| of(entry.to_event().unwrap())));
    }
}

/// Records until somebody ends the process, and tells of each record that is done.
fn record_for_ever(path: &Path, first: u64) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let log = open(path);
        let tasks: Vec<_> = (0..16)
            .map(|task| {
                let log = log.clone();
                tokio::spawn(async move {
                    for number in (first + task..).step_by(16) {
                        log.record(event(number)).await.unwrap();
                        println!("done {number}");
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn a_process_that_is_killed_loses_no_event_that_it_had_promised() {
    const CHILD: &str = "MGP_TEST_AUDIT_LOG";
    const FIRST: &str = "MGP_TEST_AUDIT_FIRST";
    if let (Ok(path), Ok(first)) = (env::var(CHILD), env::var(FIRST)) {
        return record_for_ever(path.as_ref(), first.parse().unwrap());
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let mut promised = HashSet::new();
    for round in 1..=4u64 {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "a_process_that_is_killed_loses_no_event_that_it_had_promised", "--nocapture"])
            .env(CHILD, &path)
            .env(FIRST, (round * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let enough = promised.len() + 150 * usize::try_from(round).unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            // The line that was being written when the process ended may be cut.
            if let Some(number) = line.unwrap().strip_prefix("done ").filter(|number| number.len() == 7) {
                promised.insert(number.parse::<u64>().unwrap());
            }
            if promised.len() == enough {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(promised.len() >= enough, "the process ended by itself");
        let log = open(&path);
        log.reader().verify(&[]).unwrap();
        let held: HashSet<_> = numbers(&log.reader()).into_iter().collect();
        let lost: Vec<_> = promised.difference(&held).collect();
        assert!(lost.is_empty(), "lost {lost:?}");
    }
}

#[tokio::test]
async fn a_full_disk_fails_closed_says_so_and_is_recovered_from() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(&directory.path().join("audit.db")).unwrap();
    let log = AuditLog::open(LogStore::new(database.clone()).unwrap()).unwrap();
    let limit = |pages: u32| database.connection().pragma_update(None, "max_page_count", pages).unwrap();
    limit(64);
    let mut promised = 0;
    let error = loop {
        match log.record(event(promised)).await {
            Ok(()) => promised += 1,
            Err(error) => break error,
        }
        assert!(promised < 10_000, "never full");
    };
    assert_eq!(error.code(), code::RESOURCE_EXHAUSTED);
    let message = error.message();
    assert!(message.starts_with("the record cannot be kept: no room is left"), "{message}");
    assert_eq!(log.open(&mgp_types::Object::new).unwrap_err().code(), code::RESOURCE_EXHAUSTED);
    let queued = log.clone().with_durability(Durability::Async);
    queued.record(event(777_777)).await.unwrap();
    assert!(log.flush().await.is_err());

    limit(100_000);
    // Nobody has to call for the log to find out that there is room again.
    log.subscribe(log.head().seq).next().await.unwrap();
    log.flush().await.unwrap();
    log.open(&mgp_types::Object::new).unwrap();
    log.record(event(888_888)).await.unwrap();
    let held = numbers(&log.reader());
    let expected: Vec<_> = (0..promised).chain([777_777, 888_888]).collect();
    assert_eq!(held, expected, "all that was promised, and nothing that was refused");
    let mut filter = Filter::default();
    filter.event_types = vec![EventType::Custom(GAP.into())];
    let gaps = log.reader().query(&Query::new(filter)).unwrap();
    let gap = gaps[0].to_event().unwrap();
    assert_eq!(gap.details.bytes("unrecorded_events").unwrap(), b"1");
    assert_eq!(gap.details.bytes("refused_calls").unwrap(), b"1");
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn a_log_of_a_newer_version_is_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    open(&path).record(event(1)).await.unwrap();
    let newer = "UPDATE mgp_schema SET version = 99 WHERE section = 'audit'";
    Database::open(&path).unwrap().connection().execute(newer, []).unwrap();
    let before = fs::read(&path).unwrap();
    let error = LogStore::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn a_second_writer_is_refused_and_a_reader_sees_what_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let log = open(&path);
    log.record(event(1)).await.unwrap();
    assert!(matches!(LogStore::open(&path), Err(StoreError::InUse)));
    let reader = LogStore::open_read_only(&path).unwrap();
    assert_eq!(numbers(&reader), [1]);
    log.record(event(2)).await.unwrap();
    assert_eq!(numbers(&reader), [1, 2]);
    assert_eq!(reader.verify(&[log.head()]).unwrap().events, 2);
    drop((log, reader));
    open(&path);
}

#[tokio::test]
async fn a_torn_end_is_recovered_from_and_an_end_kept_elsewhere_tells_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let log = open(&path);
    for number in 1..=40 {
        log.record(event(number)).await.unwrap();
    }
    let end = log.head();
    let wal = fs::read(directory.path().join("audit.db-wal")).unwrap();
    assert!(wal.len() > 100_000, "the events are still in the write-ahead log");
    for (case, lost) in [0, 1, 100, 4_096, 4_120, 50_000, 100_000].into_iter().enumerate() {
        for is_garbage in [false, true] {
            let copy = directory.path().join(format!("copy-{case}-{is_garbage}"));
            fs::create_dir(&copy).unwrap();
            fs::copy(&path, copy.join("audit.db")).unwrap();
            let (kept, torn_off) = wal.split_at(wal.len() - lost);
            let mut torn = kept.to_vec();
            if is_garbage {
                torn.extend(torn_off.iter().map(|byte| !byte));
            }
            fs::write(copy.join("audit.db-wal"), torn).unwrap();
            let log = open(&copy.join("audit.db"));
            let verified = log.reader().verify(&[]).unwrap();
            let held = numbers(&log.reader());
            assert_eq!(held, (1..=verified.events).collect::<Vec<_>>(), "a whole beginning");
            let against = log.reader().verify(&[end]);
            assert_eq!(verified.events == 40, lost == 0, "{case}");
            match against {
                Ok(_) => assert_eq!(lost, 0),
                Err(error) => assert!(matches!(error, VerifyError::Changed { seq: 40, .. }), "{error}"),
            }
            log.record(event(99)).await.unwrap();
            log.reader().verify(&[]).unwrap();
        }
    }
}

#[test]
fn what_is_no_log_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    fs::write(&path, vec![0x5a; 16_384]).unwrap();
    assert!(matches!(LogStore::open(&path), Err(StoreError::Damaged(_))));
    assert!(LogStore::open_read_only(&directory.path().join("none.db")).is_err());
}
