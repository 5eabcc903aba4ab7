use mgp_types::mgp::{EventType, Outcome, TraceId};
use serde_json::json;

use super::*;

const NONE: [u64; 0] = [];

fn filter(change: impl FnOnce(&mut Filter)) -> Filter {
    let mut filter = Filter::default();
    change(&mut filter);
    filter
}

#[tokio::test]
async fn events_are_found_by_each_of_their_facets() {
    let time = |number: u32| sample::event(number).timestamp;
    let log = log();
    record(&log, 1..=24).await;
    let find = |change: &dyn Fn(&mut Filter)| {
        let query = Query { limit: 100, order: Order::OldestFirst, ..Query::new(filter(change)) };
        numbers(&log, &query)
    };
    let every = |step: usize, from: u64| (from..=24).step_by(step).collect::<Vec<_>>();
    assert_eq!(find(&|_| {}), every(1, 1));
    assert_eq!(find(&|of| of.event_types = vec![EventType::ToolBlocked]), every(4, 4));
    assert_eq!(
        find(&|of| of.event_types = vec![EventType::ToolBlocked, EventType::ToolExecuted]),
        every(1, 1)
    );
    assert_eq!(find(&|of| of.event_types = vec![EventType::CodeRejected]), NONE);
    assert_eq!(find(&|of| of.agent_id = Some("agent.1".into())), every(3, 1));
    assert_eq!(find(&|of| of.server_id = Some("tool.files".into())), every(2, 2));
    assert_eq!(find(&|of| of.result = Some(Outcome::Blocked)), every(4, 4));
    assert_eq!(find(&|of| of.result = Some(Outcome::Failure)), NONE);
    assert_eq!(find(&|of| of.since = Some(time(20))), [20, 21, 22, 23, 24]);
    assert_eq!(find(&|of| of.until = Some(time(3))), [1, 2]);
    assert_eq!(find(&|of| of.trace_id = Some(sample::event(7).trace_id)), [7]);
    assert_eq!(find(&|of| of.trace_id = TraceId::from_u128(1)), NONE);
    assert_eq!(
        find(&|of| {
            of.agent_id = Some("agent.1".into());
            of.server_id = Some("tool.files".into());
            of.result = Some(Outcome::Blocked);
            of.since = Some(time(5));
        }),
        [16]
    );
    assert_eq!(find(&|of| of.agent_id = Some("' OR 1=1 --".into())), NONE);
}

#[tokio::test]
async fn pages_follow_each_other_in_both_directions() {
    let log = log();
    record(&log, 1..=120).await;
    let mut query = Query::new(Filter::default());
    assert_eq!(numbers(&log, &query), (71..=120).rev().collect::<Vec<_>>(), "fifty, the newest first");
    query.behind = Some(71);
    assert_eq!(numbers(&log, &query), (21..=70).rev().collect::<Vec<_>>());
    query.behind = Some(2);
    assert_eq!(numbers(&log, &query), [1]);
    query.behind = Some(1);
    assert_eq!(numbers(&log, &query), NONE);
    assert_eq!(numbers(&log, &Query::after(Filter::default(), 118, 50)), [119, 120]);
    assert_eq!(numbers(&log, &Query::after(Filter::default(), u64::MAX, 50)), NONE);
    query = Query { behind: None, limit: usize::MAX, ..query };
    assert_eq!(numbers(&log, &query).len(), 120);
}

#[tokio::test]
async fn an_event_is_exported_as_a_line() {
    let log = log();
    log.record(sample::event(1_300)).await.unwrap();
    let entry = log.reader().query(&Query::new(Filter::default())).unwrap().remove(0);
    let line: serde_json::Value = serde_json::from_str(&entry.to_line()).unwrap();
    assert_eq!((&line["_mgp"]["seq"], &line["event_type"]), (&json!(1), &json!("TOOL_BLOCKED")));
}

#[tokio::test]
async fn a_clock_that_jumps_changes_neither_the_order_nor_the_proof() {
    let log = log();
    record(&log, [100, 101, 5, 6, 200, 199]).await;
    assert_eq!(numbers(&log, &Query::after(Filter::default(), 0, 50)), [1, 2, 3, 4, 5, 6]);
    let since = sample::event(100).timestamp;
    let query = Query::after(filter(|of| of.since = Some(since)), 0, 50);
    assert_eq!(numbers(&log, &query), [1, 2, 5, 6]);
    let events = log.reader().query(&Query::after(Filter::default(), 0, 50)).unwrap();
    let behind: Vec<_> =
        events.iter().map(|entry| entry.to_event().unwrap().details.contains("clock_behind_ms")).collect();
    assert_eq!(behind, [false, false, true, false, false, false], "a jump is noted once, jitter is not");
    let third = events[2].to_event().unwrap();
    assert_eq!(third.timestamp, sample::event(5).timestamp, "what the clock said stays");
    assert_eq!(third.details.bytes("clock_behind_ms").unwrap(), b"96000");
    log.reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn events_are_counted_by_span_from_a_time_on_and_the_newest_only() {
    let log = log();
    record(&log, 1..=24).await;
    let ten = std::time::Duration::from_secs(10);
    let counts = |since: u32, at_most: u64| {
        let counts = log.reader().counts(None, sample::event(since).timestamp, ten, at_most).unwrap();
        Vec::from_iter(counts)
    };
    assert_eq!(counts(1, 100), [(0, (10, 2)), (1, (10, 3)), (2, (4, 1))], "every fourth is blocked");
    assert_eq!(counts(20, 100), [(0, (5, 2))]);
    assert_eq!(counts(1, 3), [(2, (3, 1))]);
    assert_eq!(counts(30, 100), []);
}

#[tokio::test]
async fn events_of_a_server_are_counted_and_their_calls_timed() {
    let log = log();
    record(&log, 1..=24).await;
    let (ten, start, reader) = (std::time::Duration::from_secs(10), sample::event(1).timestamp, log.reader());
    let files = "tool.files".into();
    let counts = reader.counts(Some(&files), start, ten, 100).unwrap();
    assert_eq!(Vec::from_iter(counts), [(0, (5, 2)), (1, (5, 3)), (2, (2, 1))]);
    // Every fourth of all is a call that was blocked, which took no time of the server.
    let times = reader.call_times(&files, start, ten, 100).unwrap();
    assert_eq!(Vec::from_iter(times), [(0, vec![2, 6, 10]), (1, vec![14, 18]), (2, vec![22])]);
    assert_eq!(Vec::from_iter(reader.call_times(&files, start, ten, 3).unwrap()), [(2, vec![22])]);
    assert!(reader.call_times(&"other".into(), start, ten, 100).unwrap().is_empty());
}

#[tokio::test]
async fn calls_are_counted_by_agent_the_busiest_first() {
    let log = log();
    record(&log, 1..=10).await;
    let callers =
        |since: u32, at_most: u64| log.reader().callers(sample::event(since).timestamp, at_most).unwrap();
    let counted = |agent: &str, calls: u64| (agent.to_owned(), calls);
    let all = [counted("agent.1", 4), counted("agent.0", 3), counted("agent.2", 3)];
    assert_eq!(callers(1, 100), all);
    assert_eq!(callers(10, 100), [counted("agent.1", 1)]);
    assert_eq!(callers(1, 2), [counted("agent.0", 1), counted("agent.1", 1)]);
    let mut granted = sample::event(11);
    granted.event_type = EventType::AccessGranted;
    log.record(granted).await.unwrap();
    assert_eq!(callers(1, 100), all, "only calls are counted");
}
