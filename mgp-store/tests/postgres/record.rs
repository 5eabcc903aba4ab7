//! The events of several kernels in one table.

use mgp_store::{Postgres, SharedEvent, SharedEventQuery};

use super::server::{COMMON, RUNTIME};

const NEW_MILLIS: i64 = 4_000_000_000_000;

fn event(writer: &str, seq: i64, millis: i64, tags: &[&str]) -> SharedEvent {
    SharedEvent {
        writer: writer.to_owned(),
        seq,
        place: SharedEvent::first_place(millis) + seq,
        tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
        body: format!("{{\"number\": {seq}}}"),
        prev: vec![0, 255],
        hash: vec![1; 32],
    }
}

fn with(events: &[SharedEvent]) -> Postgres {
    let postgres = COMMON.connect(&COMMON.new_database());
    RUNTIME.block_on(postgres.add_events(events)).unwrap();
    postgres
}

fn found(postgres: &Postgres, query: &SharedEventQuery) -> Vec<(String, i64)> {
    let found = RUNTIME.block_on(postgres.events(query)).unwrap();
    found.into_iter().map(|event| (event.writer, event.seq)).collect()
}

#[test]
fn events_are_read_as_they_were_added_and_none_takes_the_place_of_another() {
    let events = [event("a", 1, 5, &["x:\u{fffd}\n'"]), event("a", 2, 5, &[]), event("b", 7, 6, &[])];
    let postgres = with(&events);
    RUNTIME.block_on(async {
        assert_eq!(postgres.events_behind("a", 0).await.unwrap(), events[..2]);
        assert_eq!(postgres.last_event("b").await.unwrap().as_ref(), Some(&events[2]));
        assert_eq!(postgres.last_event("c").await.unwrap(), None);
        assert_eq!(postgres.writers().await.unwrap(), ["a", "b"]);
        let more = [event("a", 3, 7, &[]), event("a", 2, 9, &["forged"])];
        assert!(postgres.add_events(&more).await.is_err());
        assert_eq!(postgres.last_event("a").await.unwrap().as_ref(), Some(&events[1]), "all or none");
    });
}

#[test]
fn events_of_all_kernels_are_found_by_tags_and_times_in_the_order_of_these() {
    let postgres = with(&[
        event("a", 1, 10, &["type:X", "agent:ada"]),
        event("b", 1, 20, &["type:Y", "agent:ada"]),
        event("a", 2, 30, &["type:Z"]),
    ]);
    let all = SharedEventQuery {
        places: (i64::MIN, i64::MAX),
        all_of: Vec::new(),
        any_of: Vec::new(),
        newest_first: true,
        limit: 10,
    };
    let pair = |writer: &str, seq| (writer.to_owned(), seq);
    assert_eq!(found(&postgres, &all), [pair("a", 2), pair("b", 1), pair("a", 1)]);
    let of_ada =
        SharedEventQuery { all_of: vec!["agent:ada".to_owned()], newest_first: false, ..all.clone() };
    assert_eq!(found(&postgres, &of_ada), [pair("a", 1), pair("b", 1)]);
    let any_of = ["type:Y", "type:Z"].map(str::to_owned).to_vec();
    let limited = SharedEventQuery { any_of: any_of.clone(), limit: 1, ..all.clone() };
    assert_eq!(found(&postgres, &limited), [pair("a", 2)]);
    let earlier = SharedEventQuery { places: (0, SharedEvent::first_place(30)), any_of, ..all };
    assert_eq!(found(&postgres, &earlier), [pair("b", 1)]);
}

#[test]
fn old_events_end_before_the_first_that_is_not_old() {
    let postgres = with(&[
        event("a", 1, 10, &[]),
        event("a", 2, 20, &[]),
        event("a", 3, NEW_MILLIS, &[]),
        // The clock of its kernel was wrong.
        event("a", 4, 30, &[]),
        event("b", 1, NEW_MILLIS, &[]),
    ]);
    RUNTIME.block_on(async {
        let old = postgres.last_old_event("a", 0, 7).await.unwrap().unwrap();
        assert_eq!(old.seq, 2);
        assert_eq!(postgres.last_old_event("b", 0, 7).await.unwrap(), None);
        postgres.remove_events("a", old.seq).await.unwrap();
        assert_eq!(postgres.last_old_event("a", old.seq, 7).await.unwrap(), None);
        assert_eq!(postgres.events_behind("a", 0).await.unwrap()[0].seq, 3);
    });
}
