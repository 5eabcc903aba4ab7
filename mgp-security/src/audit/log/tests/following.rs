use super::*;

/// Returns the next events of a subscription, up to the number `last`.
async fn read_to(subscription: &mut LogSubscription, last: u64) -> Vec<LogEntry> {
    let mut read = Vec::new();
    while subscription.position() < last {
        read.extend(subscription.next().await.unwrap().unwrap());
    }
    read
}

fn stored(log: &AuditLog) -> Vec<LogEntry> {
    log.reader().query(&Query::after(Filter::default(), 0, Query::MAX_LIMIT)).unwrap()
}

fn in_memory(log: &AuditLog, after: u64) -> Option<Vec<LogEntry>> {
    log.inner.state.recent.behind(after, Query::MAX_LIMIT)
}

#[tokio::test]
async fn events_in_memory_are_those_of_the_store() {
    let log = log();
    let mut subscription = log.subscribe(0);
    record(&log, 1..=300).await;
    log.retain(Retention::SizeBased(0), 1).await.unwrap();
    let stored = stored(&log);
    assert_eq!(stored.len(), 300, "one is removed, and one says so");
    assert_eq!(in_memory(&log, 1), Some(stored.clone()));
    assert_eq!(in_memory(&log, 301), Some(Vec::new()));
    assert_eq!(read_to(&mut subscription, 301).await[1..], stored[..]);
}

#[tokio::test]
async fn a_subscription_that_is_further_behind_than_memory_reads_the_store() {
    let log = log();
    let mut subscription = log.subscribe(0);
    let text = "x".repeat(60_000);
    let count = u32::try_from(recent::MAX_BYTES / text.len()).unwrap() + 10;
    for number in 1..=count {
        log.record(sample::event(number).with_detail("text", &text)).await.unwrap();
    }
    let last = u64::from(count);
    assert!(in_memory(&log, 0).is_none() && in_memory(&log, last - 1).is_some());
    assert_eq!(read_to(&mut subscription, last).await, stored(&log));
    record(&log, [count + 1]).await;
    assert_eq!(read_to(&mut subscription, last + 1).await[0].seq, last + 1);
}

#[tokio::test]
async fn events_are_in_memory_only_while_there_is_a_subscription() {
    let log = log();
    record(&log, [1]).await;
    assert_eq!(in_memory(&log, 0), None);
    let subscription = log.subscribe(1);
    record(&log, [2]).await;
    assert!(in_memory(&log, 1).is_some());
    drop(subscription);
    record(&log, [3]).await;
    assert!(in_memory(&log, 1).is_none() && in_memory(&log, 2).is_none());
    let mut subscription = log.subscribe(0);
    record(&log, [4]).await;
    assert_eq!(in_memory(&log, 2), None, "there would be a gap");
    assert_eq!(read_to(&mut subscription, 4).await, stored(&log));
}

#[tokio::test]
async fn a_subscription_after_a_restart_goes_on_where_the_last_one_ended() {
    let folder = tempfile::tempdir().unwrap();
    let open = || AuditLog::open(LogStore::open(&folder.path().join("audit.db")).unwrap()).unwrap();
    let log = open();
    let mut subscription = log.subscribe(0);
    record(&log, 1..=2).await;
    let position = read_to(&mut subscription, 2).await[1].seq;
    record(&log, [3]).await;
    drop((subscription, log));
    let log = open();
    let mut subscription = log.subscribe(position);
    record(&log, [4]).await;
    assert_eq!(read_to(&mut subscription, 4).await, stored(&log)[2..]);
}
