//! Tests of the bodies of events.

use proptest::prelude::*;

use super::*;

#[test]
fn severities_are_ordered_and_filter() {
    let words: Vec<_> = EventSeverity::ALL.iter().map(|word| word.as_str()).collect();
    assert_eq!(words, ["debug", "info", "warning", "error", "critical"]);
    assert!(EventSeverity::ALL.is_sorted());
    let filter = EventFilter { min_severity: Some(EventSeverity::Warning) };
    assert!(filter.includes(Some(EventSeverity::Critical)) && !filter.includes(Some(EventSeverity::Info)));
    assert!(EventFilter::default().includes(Some(EventSeverity::Debug)));
}

#[test]
fn an_event_without_a_severity_passes_every_filter() {
    let filter = EventFilter { min_severity: Some(EventSeverity::Critical) };
    assert!(filter.includes(None) && EventFilter::default().includes(None));
}

#[test]
fn a_subscriptions_name_is_not_shown() {
    assert!(!format!("{:?}", EventUnsubscribe::new(SubscriptionId::new("hidden"))).contains("hidden"));
}

// covers: MGP-13.5-01..04
#[test]
fn families_are_matched_and_nothing_beside_them() {
    for family in ["model", "system", "tool", "security"] {
        let pattern = format!("{family}.*").parse::<ChannelPattern>().unwrap();
        assert!(pattern.matches(&format!("{family}.x")) && pattern.matches(&format!("{family}.x.y")));
        assert!(!pattern.matches(family) && !pattern.matches(&format!("{family}s.x")));
        assert!(!pattern.matches(&format!("{family}.")));
        let word = family.parse::<ChannelPattern>().unwrap();
        assert!(word.matches(&format!("{family}.x")) && !word.matches(&format!("{family}s.x")));
    }
}

#[test]
fn what_is_no_channel_is_refused() {
    for text in ["", ".", "a.", ".a", "a..b", "a b", "a\n", "ä", "a*", "**", "*.a", "a.*.b", "a.**", "a.b*"]
    {
        assert!(text.parse::<ChannelPattern>().is_err(), "{text}");
        assert!(text.parse::<ChannelName>().is_err(), "{text}");
    }
    assert!("*".parse::<ChannelName>().is_err() && "a.*".parse::<ChannelName>().is_err());
    assert_eq!("a".repeat(129).parse::<ChannelName>(), Err(ChannelError::TooLong));
    assert!("a".repeat(128).parse::<ChannelName>().is_ok());
}

proptest! {
    #[test]
    fn a_pattern_matches_what_it_says(words in proptest::collection::vec("[a-c]{1,2}", 1..4), asked in proptest::collection::vec("[a-c]{1,2}", 1..4)) {
        let (name, asked) = (words.join("."), asked.join("."));
        let exact = asked.parse::<ChannelPattern>().unwrap();
        prop_assert_eq!(exact.matches(&name), asked == name);
        let below = format!("{asked}.*").parse::<ChannelPattern>().unwrap();
        prop_assert_eq!(below.matches(&name), name.starts_with(&format!("{asked}.")));
        prop_assert!("*".parse::<ChannelPattern>().unwrap().matches(&name));
    }

    #[test]
    fn any_text_is_a_pattern_or_refused(text in ".*") {
        if let Ok(pattern) = text.parse::<ChannelPattern>() {
            prop_assert_eq!(pattern.as_str(), &*text);
            prop_assert!(text.len() <= 128 && text.is_ascii());
            prop_assert_eq!(text.parse::<ChannelName>().is_ok(), !text.contains('*'));
        }
    }
}
