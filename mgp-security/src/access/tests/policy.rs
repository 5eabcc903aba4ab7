use std::task::{Context, Waker};

use mgp_types::mgp::{
    AccessPermission::{Allow, Deny},
    AccessSource, AccessState, DefaultPolicy, EventType, Outcome, Timestamp,
};
use mgp_types::{AgentGroups, Error, Principal, code};

use super::*;
use crate::access::table::{DecisionTime, EntryTable};
use crate::access::{AccessEntry, StoredEntry};
use crate::doubles::{database, fill};

fn says(policy: &AccessPolicy, tool: Option<&str>) -> (AccessPermission, AccessSource) {
    let verdict = policy.decide("a", "s", tool);
    (verdict.permission, verdict.source)
}

#[tokio::test]
async fn an_entry_for_local_holds_for_its_clients_and_one_for_a_client_comes_first() {
    let policy = policy();
    let allows = |agent: &str, tool: &str| policy.decide(agent, "s", Some(tool)).allows();
    policy.grant(&admin(), None, grant("local", "s", Some("t"), Allow)).await.unwrap();
    assert!(allows("local", "t") && allows("local/cursor", "t") && policy.reaches("local/cursor", "s"));
    assert!(!allows("locale/cursor", "t") && !allows("team/ada", "t"));
    policy.grant(&admin(), None, grant("local/cursor", "s", Some("t"), Deny)).await.unwrap();
    assert!(!allows("local/cursor", "t") && allows("local/zed", "t") && allows("local", "t"));
    // A rule about the tool stays more exact than one about the server, whoever it names.
    policy.grant(&admin(), None, grant("local", "s", Some("u"), Deny)).await.unwrap();
    policy.grant(&admin(), None, grant("local/zed", "s", None, Allow)).await.unwrap();
    assert!(!allows("local/zed", "u") && allows("local/zed", "v") && !allows("local/other", "v"));
}

#[tokio::test]
async fn the_default_can_be_changed_by_operators_and_is_recorded() {
    let (settings, trail) = with_trail();
    let policy =
        AccessPolicy::open(AccessPolicySettings { default_policy: DefaultPolicy::OptOut, ..settings })
            .unwrap();
    policy.grant(&admin(), None, grant("a", "s", Some("t"), Allow)).await.unwrap();
    let (before, recorded) = (policy.revision(), trail.events().len());
    assert!(policy.set_default_policy(&Principal::new("a"), None, DefaultPolicy::OptIn).await.is_err());
    policy.set_default_policy(&admin(), None, DefaultPolicy::OptOut).await.unwrap();
    assert_eq!((policy.revision(), trail.events().len()), (before, recorded));
    policy.set_default_policy(&admin(), None, DefaultPolicy::OptIn).await.unwrap();
    assert_eq!(policy.default_policy(), DefaultPolicy::OptIn);
    assert!(!policy.decide("a", "s", None).allows() && !policy.reaches("b", "s"));
    assert!(policy.decide("a", "s", Some("t")).allows());
    assert_ne!(policy.revision(), before);
    // Entries that come later leave it.
    policy.grant(&admin(), None, grant("b", "s", None, Allow)).await.unwrap();
    assert!(!policy.decide("c", "s", None).allows());
    let event = trail.events()[recorded].clone();
    assert_eq!(event.event_type.as_str(), "dev.cloto.mgp.access_default_changed");
    assert_eq!(event.details.get("default_policy").unwrap().as_bytes(), br#""opt-in""#);
}

#[tokio::test]
async fn names_are_compared_whole_and_letter_by_letter() {
    let policy = policy();
    policy.grant(&admin(), None, grant("a", "s", Some("read"), Allow)).await.unwrap();
    for (agent, server, tool) in [
        ("A", "s", "read"),
        ("a", "S", "read"),
        ("a", "s", "Read"),
        ("a", "s", "read "),
        ("a", "s", "rea"),
        ("as", "", "read"),
        ("", "as", "read"),
        ("a", "s", ""),
        ("a", "s", "*"),
    ] {
        assert!(!policy.decide(agent, server, Some(tool)).allows(), "{agent:?} {server:?} {tool:?}");
    }
}

// covers: MGP-5.4-18
#[tokio::test]
async fn an_entry_is_as_if_absent_from_its_end_on() {
    let hands = ManualClock::default();
    let policy = timed(&hands);
    let until = |grant: AccessGrant, end| grant.with_expires_at(Some(at(end)));
    policy.grant(&admin(), None, until(grant("a", "s", Some("t"), Deny), 100)).await.unwrap();
    policy.grant(&admin(), None, until(grant("a", "s", None, Allow), 200)).await.unwrap();
    for (now, expected) in [
        (99, (Deny, AccessSource::ToolGrant)),
        (100, (Allow, AccessSource::ServerGrant)),
        (199, (Allow, AccessSource::ServerGrant)),
        (200, (Deny, AccessSource::DefaultPolicy)),
    ] {
        hands.set(now);
        assert_eq!(says(&policy, Some("t")), expected, "at {now}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_end_is_told_once_and_not_before_it_is_there() {
    use std::time::Duration;

    let hands = ManualClock::at(500);
    let policy = timed(&hands);
    let mut endings = policy.endings();
    let until = |tool, end| grant("a", "s", Some(tool), Allow).with_expires_at(Some(at(end)));
    let collecting = tokio::spawn(async move {
        let mut ends = Vec::new();
        while ends.len() < 3 {
            ends.extend(endings.next().await.into_iter().map(|entry| entry.entry.expires_at.unwrap()));
        }
        (ends, endings)
    });
    let pass = async |now: i64| {
        hands.set(now);
        tokio::time::sleep(Duration::from_mins(1)).await;
    };
    policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    policy.grant(&admin(), None, until("late", 9_000)).await.unwrap();
    policy.grant(&admin(), None, until("soon", 1_500)).await.unwrap();
    policy.grant(&admin(), None, until("soon too", 2_000)).await.unwrap();
    policy.grant(&admin(), None, until("taken back", 2_000)).await.unwrap();
    let taken = mgp_types::mgp::AccessRevoke::new("a".into(), "s".into()).for_tool("taken back".into());
    policy.revoke(&admin(), None, taken).await.unwrap();
    pass(1_700).await;
    // What was kept of decisions is as old as a second.
    assert_eq!(policy.revision() & 0xff, 1);
    pass(2_000).await;
    pass(8_999).await;
    assert!(!collecting.is_finished());
    pass(9_400).await;
    assert!(collecting.is_finished());
    let (ends, mut endings) = collecting.await.unwrap();
    assert_eq!(ends[2], at(9_000));
    let mut first = ends[..2].to_vec();
    first.sort_unstable_by_key(|end| end.as_millis());
    assert_eq!(first, [at(1_500), at(2_000)]);
    let more = tokio::time::timeout(Duration::from_hours(1), endings.next()).await;
    assert!(more.is_err(), "{more:?}");
}

// covers: MGP-5.4-09, MGP-5.4-18
#[tokio::test]
async fn the_end_is_a_time_and_not_a_text() {
    let hands = ManualClock::default();
    let policy = timed(&hands);
    let end: Timestamp = "2026-11-20T02:00:01+02:00".parse().unwrap();
    let until = grant("a", "s", None, Allow).with_expires_at(Some(end));
    policy.grant(&admin(), None, until).await.unwrap();
    hands.set("2026-11-20T00:00:00.999Z".parse::<Timestamp>().unwrap().as_millis());
    assert!(policy.decide("a", "s", None).allows());
    hands.set("2026-11-20T00:00:01Z".parse::<Timestamp>().unwrap().as_millis());
    assert!(!policy.decide("a", "s", None).allows());
}

#[tokio::test]
async fn a_clock_set_back_revives_no_permission_and_shortens_no_prohibition() {
    let hands = ManualClock::default();
    let by_default = |default| {
        AccessPolicy::open(AccessPolicySettings {
            clock: hands.clock(),
            default_policy: default,
            ..AccessPolicySettings::default()
        })
        .unwrap()
    };
    let (shut, open) = (by_default(DefaultPolicy::OptIn), by_default(DefaultPolicy::OptOut));
    let end = Some(at(100));
    shut.grant(&admin(), None, grant("a", "s", None, Allow).with_expires_at(end)).await.unwrap();
    open.grant(&admin(), None, grant("a", "s", None, Deny).with_expires_at(end)).await.unwrap();
    hands.set(100);
    assert!(!shut.decide("a", "s", None).allows() && open.decide("a", "s", None).allows());
    hands.set(50);
    assert!(!shut.decide("a", "s", None).allows() && !open.decide("a", "s", None).allows());
}

// covers: MGP-5.1-01, MGP-5.4-10, MGP-5.4-20
#[tokio::test]
async fn a_change_holds_for_the_next_decision_and_is_recorded() {
    let (settings, trail) = with_trail();
    let policy = AccessPolicy::open(settings).unwrap();
    let trace = "550e8400-e29b-41d4-a716-446655440000".parse().unwrap();
    let wanted = grant("a", "s", Some("t"), Allow).with_justification("needed").with_granted_by("somebody");
    let first = policy.grant(&admin(), Some(trace), wanted.clone()).await.unwrap();
    assert!(policy.decide("a", "s", Some("t")).allows());
    let second = policy.grant(&admin(), Some(trace), wanted).await.unwrap();
    assert_ne!(first.id, second.id);
    let revoked = policy.revoke(&admin(), None, revoke("a", "s", Some("t"))).await.unwrap();
    assert_eq!(revoked, Some(second));
    assert!(!policy.decide("a", "s", Some("t")).allows());
    assert!(policy.revoke(&admin(), None, revoke("a", "s", Some("t"))).await.unwrap().is_none());

    let events = trail.events();
    let kinds: Vec<_> = events.iter().map(|event| (event.event_type.clone(), event.result)).collect();
    let granted = (EventType::AccessGranted, Outcome::Success);
    assert_eq!(kinds, [granted.clone(), granted, (EventType::AccessRevoked, Outcome::Success)]);
    assert_eq!((events[0].trace_id, events[0].actor.id.as_str()), (trace, "admin"));
    assert_eq!(events[0].target.tool_name.as_ref().unwrap().as_str(), "t");
    assert_eq!(events[0].details.text("agent_id").as_deref(), Some("a"));
    assert_eq!(events[0].details.text("granted_by_label").as_deref(), Some("somebody"));
    assert_ne!(events[1].trace_id, events[2].trace_id);
}

// covers: MGP-5.4-07, MGP-5.4-08, MGP-5.4-16
#[tokio::test]
async fn who_granted_is_who_authenticated_and_not_who_was_claimed() {
    let hands = ManualClock::default();
    hands.set(7);
    let policy = timed(&hands);
    let claimed = grant("a", "s", None, Allow).with_granted_by("root").with_expires_at(Some(at(9)));
    let stored = policy.grant(&admin(), None, claimed).await.unwrap();
    assert_eq!((&*stored.entry.granted_by, stored.entry.label.as_deref()), ("admin", Some("root")));
    let state = policy.query(&admin(), &query("a", "s", Some("t"))).unwrap();
    let expected = AccessState::new(Allow, AccessSource::ServerGrant)
        .with_grant("admin", at(7))
        .with_expires_at(Some(at(9)));
    assert_eq!(state, expected);
}

// covers: MGP-5.4-01, MGP-5.4-04, MGP-5.4-05
#[tokio::test]
async fn a_query_without_a_tool_is_about_the_server() {
    let policy = policy();
    policy.grant(&admin(), None, grant("a", "s", Some("t"), Allow)).await.unwrap();
    let state = |tool| policy.query(&admin(), &query("a", "s", tool)).unwrap();
    assert_eq!(state(Some("t")).source, AccessSource::ToolGrant);
    assert_eq!(state(None), AccessState::by_default(DefaultPolicy::OptIn));
}

#[tokio::test]
async fn agents_change_nothing_and_ask_about_nobody_else() {
    let policy = policy();
    let agent = Principal::new("a");
    let granted = policy.grant(&agent, None, grant("a", "s", None, Allow)).await.unwrap_err();
    let revoked = policy.revoke(&agent, None, revoke("a", "s", None)).await.unwrap_err();
    assert_eq!(Error::from(granted).code(), code::PERMISSION_DENIED);
    assert_eq!(Error::from(revoked).code(), code::PERMISSION_DENIED);
    assert!(!policy.decide("a", "s", None).allows());
    assert!(policy.query(&agent, &query("a", "s", None)).is_ok());
    let nosy = Error::from(policy.query(&agent, &query("b", "s", None)).unwrap_err());
    let same = Error::from(policy.query(&agent, &query("nobody", "nowhere", None)).unwrap_err());
    assert_eq!((nosy.code(), nosy.message()), (code::ACCESS_DENIED, same.message()));
}

// covers: MGP-5.4-14, MGP-5.4-23
#[tokio::test]
async fn a_tool_is_named_for_a_tool_and_only_for_a_tool() {
    let policy = policy();
    let mut without = grant("a", "s", Some("t"), Allow);
    without.tool_name = None;
    let mut with = grant("a", "s", None, Allow);
    with.tool_name = Some("t".into());
    for wrong in [without, with, grant("a", "s", Some(""), Allow), grant("", "s", None, Allow)] {
        let error = policy.grant(&admin(), None, wrong).await.unwrap_err();
        assert_eq!(Error::from(error).code(), code::INVALID_PARAMS);
    }
    let mut wrong = revoke("a", "s", Some("t"));
    wrong.tool_name = None;
    let error = policy.revoke(&admin(), None, wrong).await.unwrap_err();
    assert_eq!(Error::from(error).code(), code::INVALID_PARAMS);
}

#[tokio::test]
async fn texts_without_end_are_refused() {
    let policy = policy();
    let long = "x".repeat(100_000);
    for wrong in [
        grant(&long, "s", None, Allow),
        grant("a", &long, None, Allow),
        grant("a", "s", Some(&long), Allow),
        grant("a", "s", None, Allow).with_justification(&*long),
        grant("a", "s", None, Allow).with_granted_by(&*long),
    ] {
        let error = policy.grant(&admin(), None, wrong).await.unwrap_err();
        assert_eq!(Error::from(error).code(), code::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn a_change_that_cannot_be_recorded_is_not_made() {
    let (settings, trail) = with_trail();
    let policy = AccessPolicy::open(settings).unwrap();
    policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
    trail.fail();
    assert!(policy.grant(&admin(), None, grant("b", "s", None, Allow)).await.is_err());
    assert!(policy.revoke(&admin(), None, revoke("a", "s", None)).await.is_err());
    assert!(!policy.decide("b", "s", None).allows());
    assert!(policy.decide("a", "s", None).allows());
}

#[tokio::test]
async fn a_change_that_cannot_be_stored_is_not_made_and_recorded_as_failed() {
    let (settings, trail) = with_trail();
    let database = database();
    let policy =
        AccessPolicy::open(AccessPolicySettings { database: Some(database.clone()), ..settings }).unwrap();
    fill(&database, "access_entries", "true");
    let error = policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap_err();
    assert_eq!(Error::from(error).code(), code::RESOURCE_EXHAUSTED);
    assert!(!policy.decide("a", "s", None).allows());
    let outcomes: Vec<_> = trail.events().iter().map(|event| event.result).collect();
    assert_eq!(outcomes, [Outcome::Success, Outcome::Failure]);
}

#[test]
fn of_two_entries_for_the_same_the_one_that_denies_decides() {
    for permissions in [[Allow, Deny], [Deny, Allow]] {
        let mut entries = Vec::new();
        for permission in permissions {
            for tool in [None, Some("t")] {
                let entry = AccessEntry::new(&admin(), grant("a", "s", tool, permission), at(0)).unwrap();
                entries.push(StoredEntry { id: entries.len() as u64, entry });
            }
        }
        let table = EntryTable::new(entries, DefaultPolicy::OptIn);
        let now = DecisionTime { now: at(0), latest: at(0) };
        let groups = AgentGroups::default();
        let says = |tool| {
            let deciding = table.deciding("a", &groups, "s", tool, now);
            deciding.map(|(source, stored)| (stored.entry.permission, source))
        };
        assert_eq!(says(Some("t")), Some((Deny, AccessSource::ToolGrant)));
        assert_eq!(says(None), Some((Deny, AccessSource::ServerGrant)));
    }
}

#[tokio::test]
async fn a_dropped_change_is_made_whole_or_not_at_all() {
    let database = database();
    let policy = AccessPolicy::open(kept_in(&database)).unwrap();
    let mut changes: Vec<_> = (0..20)
        .map(|n| {
            let policy = policy.clone();
            Box::pin(async move {
                let agent = format!("a{n}");
                policy.grant(&admin(), None, grant(&agent, "s", None, Allow)).await
            })
        })
        .collect();
    // Each is polled once and dropped; what began goes on by itself, and the turn is free again.
    for change in &mut changes {
        let _ = change.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    drop(changes);
    policy.grant(&admin(), None, grant("last", "s", None, Allow)).await.unwrap();
    assert!(policy.decide("last", "s", None).allows());
    let reopened = AccessPolicy::open(kept_in(&database)).unwrap().entries();
    for n in 0..20 {
        let agent = format!("a{n}");
        let stored = reopened.iter().any(|stored| stored.entry.agent_id.as_str() == agent);
        assert_eq!(policy.decide(&agent, "s", None).allows(), stored, "{agent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_decision_sees_a_combination_of_entries_that_never_was() {
    let policy = policy();
    let reading = tokio::task::spawn_blocking({
        let policy = policy.clone();
        move || {
            let allowed = |_| policy.decide("a", "s", Some("t")).allows();
            (0..200_000).filter(|n| allowed(*n)).count()
        }
    });
    // The tool is denied whenever the server is allowed, in every state between two of these steps.
    while !reading.is_finished() {
        policy.grant(&admin(), None, grant("a", "s", Some("t"), Deny)).await.unwrap();
        policy.grant(&admin(), None, grant("a", "s", None, Allow)).await.unwrap();
        policy.revoke(&admin(), None, revoke("a", "s", None)).await.unwrap();
        policy.revoke(&admin(), None, revoke("a", "s", Some("t"))).await.unwrap();
    }
    assert_eq!(reading.await.unwrap(), 0);
}

#[tokio::test]
async fn a_server_is_reached_through_one_tool_or_as_a_whole() {
    let policy = policy();
    assert!(!policy.reaches("a", "s"));
    policy.grant(&admin(), None, grant("a", "s", Some("t"), Deny)).await.unwrap();
    assert!(!policy.reaches("a", "s"));
    policy.grant(&admin(), None, grant("a", "s", Some("u"), Allow)).await.unwrap();
    assert!(policy.reaches("a", "s") && !policy.reaches("b", "s") && !policy.reaches("a", "other"));
}
