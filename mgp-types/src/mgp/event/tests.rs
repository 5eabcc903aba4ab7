//! Tests of the bodies of events.

use proptest::prelude::*;

use super::*;

fn written<T: Serialize>(body: &T) -> String {
    serde_json::to_string(body).unwrap()
}

// covers: MGP-13.2-02, MGP-13.2-03
#[test]
fn a_subscription_is_asked_for_with_the_members_of_the_specification() {
    let json = r#"{"channels":["model.token_usage","system.error"],"filter":{"min_severity":"warning"}}"#;
    let asked: EventSubscribe = serde_json::from_str(json).unwrap();
    let expected =
        EventSubscribe::new(["model.token_usage", "system.error"]).with_min_severity(EventSeverity::Warning);
    assert_eq!(asked, expected);
    assert_eq!(written(&asked), json);
    assert_eq!(written(&EventSubscribe::new(["a"])), r#"{"channels":["a"]}"#);
    let resumed = EventSubscribe::new(["a"]).resuming(SubscriptionId::new("s"), 7);
    assert_eq!(written(&resumed), r#"{"channels":["a"],"subscription_id":"s","after_seq":7}"#);
}

#[test]
fn an_unknown_severity_is_no_filter() {
    let json = r#"{"channels":["a"],"filter":{"min_severity":"loud"}}"#;
    assert!(serde_json::from_str::<EventSubscribe>(json).is_err());
}

// covers: MGP-13.2-04..07
#[test]
fn answers_have_the_members_of_the_specification_and_need_none_of_ours() {
    let json = r#"{"subscribed":["a"],"unsupported":["b"],"subscription_id":"sub-001"}"#;
    let specified: EventSubscribed = serde_json::from_str(json).unwrap();
    assert_eq!(
        (specified.subscription_id.as_str(), specified.last_seq, specified.gap),
        ("sub-001", None, None)
    );
    let ours = EventSubscribed {
        available: vec!["a".into()],
        last_seq: Some(9),
        gap: Some(EventGap { from: 2, to: 4 }),
        ..specified
    };
    let json = concat!(
        r#"{"subscribed":["a"],"unsupported":["b"],"subscription_id":"sub-001","available":["a"],"#,
        r#""last_seq":9,"gap":{"from":2,"to":4}}"#
    );
    assert_eq!(written(&ours), json);
    assert_eq!(serde_json::from_str::<EventSubscribed>(json).unwrap(), ours);

    let end = EventUnsubscribe::new(SubscriptionId::new("sub-001"));
    assert_eq!(written(&end), r#"{"subscription_id":"sub-001"}"#);
    assert_eq!(written(&EventUnsubscribed::new(true)), r#"{"unsubscribed":true}"#);
    assert!(serde_json::from_str::<EventUnsubscribed>("{}").unwrap().unsubscribed);
}

// covers: MGP-13.3-02..05
#[test]
fn an_event_has_the_members_of_the_specification() {
    let json = concat!(
        r#"{"subscription_id":"sub-001","channel":"model.token_usage","timestamp":"2026-02-27T12:05:00.000Z","#,
        r#""data":{"tokens_used":1500,"tokens_remaining":8500,"model":"llama3.1-70b"}}"#
    );
    let event: Event = serde_json::from_str(json).unwrap();
    assert_eq!((event.channel.as_str(), event.severity, event.seq), ("model.token_usage", None, None));
    assert_eq!(written(&event), json);
    let full = event.with_severity(EventSeverity::Info).with_seq(3);
    assert!(written(&full).ends_with(r#","severity":"info","_mgp.seq":3}"#));
    assert_eq!(serde_json::from_str::<Event>(&written(&full)).unwrap(), full);
}

#[test]
fn a_number_is_read_flat_and_nested_and_what_cannot_be_read_is_left_out() {
    let read = |more: &str| {
        let start = r#"{"subscription_id":"s","channel":"c","timestamp":"2026-02-27T12:05:00Z""#;
        serde_json::from_str::<Event>(&format!("{start}{more}}}")).unwrap()
    };
    assert_eq!(read(r#","_mgp.seq":5"#).seq, Some(5));
    assert_eq!(read(r#","_mgp":{"seq":6,"x":1}"#).seq, Some(6));
    assert_eq!(read(r#","_mgp.seq":"7","_mgp":true,"severity":"loud""#).seq, None);
    assert_eq!(read(r#","severity":"WARNING""#).severity, Some(EventSeverity::Warning));
}

#[test]
fn severities_are_ordered_and_filter() {
    let words: Vec<_> = EventSeverity::ALL.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, ["debug", "info", "warning", "error", "critical"]);
    assert!(EventSeverity::ALL.is_sorted());
    let filter = EventFilter { min_severity: Some(EventSeverity::Warning) };
    assert!(filter.includes(EventSeverity::Critical) && !filter.includes(EventSeverity::Info));
    assert!(EventFilter::default().includes(EventSeverity::Debug));
}

#[test]
fn a_replay_and_its_answer_are_read_as_they_are_written() {
    let replay = EventReplay::new(SubscriptionId::new("s"), 3).with_limit(10);
    assert_eq!(written(&replay), r#"{"subscription_id":"s","after_seq":3,"limit":10}"#);
    assert_eq!(serde_json::from_str::<EventReplay>(r#"{"subscription_id":"s"}"#).unwrap().after_seq, 0);
    let event = Event::new(SubscriptionId::new("s"), "c", Timestamp::EPOCH, Object::new()).with_seq(5);
    let answer = EventReplayed { events: vec![event], gap: Some(EventGap { from: 4, to: 4 }), last_seq: 5 };
    assert_eq!(serde_json::from_str::<EventReplayed>(&written(&answer)).unwrap(), answer);
}

#[test]
fn a_subscriptions_name_is_not_shown() {
    assert!(!format!("{:?}", EventUnsubscribe::new(SubscriptionId::new("hidden"))).contains("hidden"));
}

// covers: MGP-13.5-01..04
#[test]
fn families_are_matched_and_nothing_beside_them() {
    for family in ["model", "system", "tool", "security"] {
        let pattern = ChannelPattern::try_from(&*format!("{family}.*")).unwrap();
        assert!(pattern.matches(&format!("{family}.x")) && pattern.matches(&format!("{family}.x.y")));
        assert!(!pattern.matches(family) && !pattern.matches(&format!("{family}s.x")));
        assert!(!pattern.matches(&format!("{family}.")));
    }
}

#[test]
fn what_is_no_channel_is_refused() {
    for text in ["", ".", "a.", ".a", "a..b", "a b", "a\n", "ä", "a*", "**", "*.a", "a.*.b", "a.**", "a.b*"]
    {
        assert!(ChannelPattern::try_from(text).is_err(), "{text}");
        assert!(ChannelName::try_from(text).is_err(), "{text}");
    }
    assert!(ChannelName::try_from("*").is_err() && ChannelName::try_from("a.*").is_err());
    assert_eq!(ChannelName::try_from(&*"a".repeat(129)), Err(ChannelError::TooLong));
    assert!(ChannelName::try_from(&*"a".repeat(128)).is_ok());
}

proptest! {
    #[test]
    fn a_pattern_matches_what_it_says(words in proptest::collection::vec("[a-c]{1,2}", 1..4), asked in proptest::collection::vec("[a-c]{1,2}", 1..4)) {
        let (name, asked) = (words.join("."), asked.join("."));
        let exact = ChannelPattern::try_from(&*asked).unwrap();
        prop_assert_eq!(exact.matches(&name), asked == name);
        let below = ChannelPattern::try_from(&*format!("{asked}.*")).unwrap();
        prop_assert_eq!(below.matches(&name), name.starts_with(&format!("{asked}.")));
        prop_assert!(ChannelPattern::try_from("*").unwrap().matches(&name));
    }

    #[test]
    fn any_text_is_a_pattern_or_refused(text in ".*") {
        if let Ok(pattern) = ChannelPattern::try_from(&*text) {
            prop_assert_eq!(pattern.as_str(), &*text);
            prop_assert!(text.len() <= 128 && text.is_ascii());
            prop_assert_eq!(ChannelName::try_from(&*text).is_ok(), !text.contains('*'));
        }
    }
}
