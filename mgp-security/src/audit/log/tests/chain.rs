use mgp_types::canonical::Digest;
use proptest::prelude::*;

use super::store::{Tail, add};
use super::*;

/// Returns a store that holds whatever it is given.
fn holding(entries: &[LogEntry]) -> LogStore {
    let (database, store) = shared();
    let connection = database.connection();
    add(&connection, entries).unwrap();
    if let Some(end) = entries.last() {
        let head = rusqlite::params![end.seq.cast_signed(), end.hash.as_bytes()];
        connection.execute("INSERT INTO audit_head (only, seq, hash) VALUES (1, ?1, ?2)", head).unwrap();
    }
    store
}

/// Returns a store, and its database to open it again.
fn shared() -> (mgp_store::Database, LogStore) {
    let database = database();
    (database.clone(), LogStore::new(database).unwrap())
}

fn verdict(store: &LogStore, known: &[LogHead]) -> Result<VerifiedLog, VerifyError> {
    store.verify(known)
}

/// Makes an event of other bytes out of one, in one of several ways that a forger might choose.
fn change(entry: &mut LogEntry, how: u8) {
    let mut event = entry.to_event().unwrap();
    match how % 4 {
        0 => event.actor.id.push('x'),
        1 => event.details.set("duration_ms", RawJson::parse("77777").unwrap()),
        2 => event.target.tool_name = Some("ls".into()),
        _ => event.timestamp = event.timestamp.saturating_add(std::time::Duration::from_millis(1)),
    }
    entry.event = RawJson::from_value(&event).unwrap();
    entry.facets = EventFacets::of(&event);
}

#[test]
fn events_that_are_missing_at_the_noted_end_are_found_though_others_follow() {
    let entries = entries(12);
    let tail = holding(&entries[..10]).tail().unwrap();
    let left = [&entries[..5], &entries[10..]].concat();
    let found = holding(&left).verify_up_to(&tail, &[]);
    assert!(matches!(found, Err(VerifyError::Changed { seq: 6, flaw: LogFlaw::End })), "{found:?}");
}

proptest! {
    #[test]
    fn a_log_that_nobody_touched_is_verified(count in 0u32..60) {
        let entries = entries(count);
        let reader = holding(&entries);
        let known: Vec<_> = entries.iter().step_by(7).map(LogEntry::head).collect();
        prop_assert_eq!(reader.verify(&known).unwrap().events, u64::from(count));
    }

    #[test]
    fn a_changed_event_is_found(count in 1u32..60, at in any::<prop::sample::Index>(), how in any::<u8>()) {
        let mut entries = entries(count);
        let at = at.index(entries.len());
        change(&mut entries[at], how);
        let found = verdict(&holding(&entries), &[]);
        let seq = at as u64 + 1;
        let is_found = matches!(found, Err(VerifyError::Changed { seq: at, flaw: LogFlaw::Link }) if at == seq);
        prop_assert!(is_found, "{:?}", found);
    }

    #[test]
    fn a_changed_link_or_facet_is_found(count in 1u32..40, at in any::<prop::sample::Index>(), how in 0u8..6) {
        let mut entries = entries(count);
        let at = at.index(entries.len());
        let entry = &mut entries[at];
        match how {
            0 => entry.hash = Digest::from([7; 32]),
            1 => entry.prev = Digest::from([7; 32]),
            2 => entry.facets.agent = None,
            3 => entry.facets.millis += 1,
            4 => entry.facets.trace += 1,
            _ => entry.facets.event_type = mgp_types::mgp::EventType::read("TOOL_LISTED"),
        }
        prop_assert!(verdict(&holding(&entries), &[]).is_err());
    }

    #[test]
    fn a_removed_event_is_found_even_if_the_rest_is_numbered_anew(
        count in 2u32..60,
        at in any::<prop::sample::Index>(),
        renumber in any::<bool>(),
    ) {
        let mut entries = entries(count);
        let end = entries[entries.len() - 1].head();
        let at = at.index(entries.len());
        entries.remove(at);
        if renumber {
            entries[at..].iter_mut().for_each(|entry| entry.seq -= 1);
        }
        // The last one leaves a whole log behind, which only its end, noted elsewhere, tells from the real one.
        prop_assert!(verdict(&holding(&entries), &[end]).is_err());
        if at + 1 < count as usize {
            prop_assert!(verdict(&holding(&entries), &[]).is_err());
        }
    }

    #[test]
    fn events_in_another_order_are_found(
        count in 2u32..60,
        one in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        with_links in any::<bool>(),
    ) {
        let mut entries = entries(count);
        let (one, other) = (one.index(entries.len()), other.index(entries.len()));
        prop_assume!(one != other);
        entries.swap(one, other);
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.seq = index as u64 + 1;
        }
        if with_links {
            let (a, b) = (entries[one].clone(), entries[other].clone());
            (entries[one].prev, entries[one].hash) = (b.prev, b.hash);
            (entries[other].prev, entries[other].hash) = (a.prev, a.hash);
        }
        prop_assert!(verdict(&holding(&entries), &[]).is_err());
    }

    #[test]
    fn an_event_put_in_is_found(count in 1u32..60, at in any::<prop::sample::Index>(), relink in any::<bool>()) {
        let mut entries = entries(count);
        let at = at.index(entries.len());
        let mut forged = entries[at].clone();
        change(&mut forged, 0);
        if relink {
            // Links that fit are easy to make, up to the event behind.
            let before = LogHead::new(forged.seq - 1, forged.prev);
            forged.hash = before.link(forged.event.as_bytes()).hash;
        }
        entries.insert(at, forged);
        for (index, entry) in entries.iter_mut().enumerate() {
            entry.seq = index as u64 + 1;
        }
        prop_assert!(verdict(&holding(&entries), &[]).is_err());
    }

    #[test]
    fn a_log_written_anew_is_found_by_an_end_that_was_kept_elsewhere(count in 1u32..40, at in any::<prop::sample::Index>()) {
        let mut entries = entries(count);
        let kept = entries[entries.len() - 1].head();
        let at = at.index(entries.len());
        change(&mut entries[at], 1);
        let mut head = LogHead::new(entries[at].seq - 1, entries[at].prev);
        for entry in &mut entries[at..] {
            *entry = LogEntry::behind(&mut head, entry.event.clone(), entry.facets.clone());
        }
        let found = verdict(&holding(&entries), &[kept]);
        let is_found = matches!(found, Err(VerifyError::Changed { flaw: LogFlaw::End, .. }));
        prop_assert!(is_found, "{:?}", found);
    }
}

#[tokio::test]
async fn a_log_goes_on_where_it_ended() {
    let (database, store) = shared();
    let log = AuditLog::open(store).unwrap();
    record(&log, 1..4).await;
    let end = log.head();
    drop(log);
    let log = AuditLog::open(LogStore::new(database).unwrap()).unwrap();
    assert_eq!(log.head(), end);
    record(&log, 4..6).await;
    assert_eq!(log.reader().verify(&[end]).unwrap().events, 5);
}

#[tokio::test]
async fn a_log_whose_end_was_cut_off_is_not_continued() {
    let mut entries = entries(5);
    let store = holding(&entries);
    entries.pop();
    assert!(AuditLog::open(store).is_ok());
    let (store, cut) = (super::store(), LogHead::new(5, Digest::from([1; 32])));
    store.append(&entries).unwrap();
    let tail = Tail { head: Some(cut), ..store.tail().unwrap() };
    assert!(super::super::chain::end(&tail).is_err());
    let tail = Tail { head: None, ..store.tail().unwrap() };
    assert!(super::super::chain::end(&tail).is_err());
    let tail = Tail { last: None, ..store.tail().unwrap() };
    assert!(super::super::chain::end(&tail).is_err());
}
