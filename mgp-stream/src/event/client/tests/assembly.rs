//! Tests of the order of events.

use mgp_types::mgp::{EventGap, EventReplayed, EventSubscribed, SubscriptionId};
use proptest::prelude::*;

use super::super::{EventAssembly, EventItem};
use super::{event, numbered};

#[derive(Debug, Clone)]
enum Action {
    Push(Option<u64>),
    Answer(Vec<u64>, Option<(u64, u64)>, u64),
    Expect(u64),
    Lose(u64),
    Pop(u8),
    End,
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..40u64, 1 => any::<u64>(), 1 => u64::MAX - 2..=u64::MAX]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        5 => proptest::option::weighted(0.9, number()).prop_map(Action::Push),
        3 => (
            proptest::collection::vec(number(), 0..6),
            proptest::option::of((number(), number())),
            number()
        ).prop_map(|(events, gap, last)| Action::Answer(events, gap, last)),
        1 => number().prop_map(Action::Expect),
        1 => number().prop_map(Action::Lose),
        3 => (0..9u8).prop_map(Action::Pop),
        1 => Just(Action::End),
    ]
}

/// The greatest number that an event may have.
const LAST: u64 = u64::MAX - 1;

proptest! {
    /// Checks that no server breaks the order: the events given out ascend without holes, and asking comes to an end.
    #[test]
    fn no_server_breaks_the_order(
        actions in proptest::collection::vec(action(), 0..60),
        first in prop_oneof![4 => Just(1), 1 => number()],
    ) {
        let mut answer = EventSubscribed::new(SubscriptionId::new("s"));
        answer.last_seq = first.checked_sub(1);
        let mut assembly = EventAssembly::new(&answer);
        let mut next = first;
        let mut is_numbered = first > 0;
        for action in actions {
            match action {
                Action::Push(seq) => {
                    let mut event = event("s", 0);
                    event.seq = seq;
                    assembly.push(event);
                }
                Action::Answer(events, gap, last_seq) => {
                    if let Some(question) = assembly.question().or_else(|| assembly.poll_question()) {
                        let mut answer = EventReplayed::default();
                        answer.events = events.into_iter().map(numbered).collect();
                        answer.gap = gap.map(|(from, to)| EventGap { from, to });
                        answer.last_seq = last_seq;
                        assembly.replayed(question, answer);
                        prop_assert!(assembly.question().is_none_or(|again| again != question));
                    }
                }
                Action::Expect(seq) => assembly.expect(seq),
                Action::Lose(seq) => assembly.lose_to(seq),
                Action::End => {
                    assembly.end();
                    is_numbered = false;
                }
                Action::Pop(items) => {
                    for item in std::iter::from_fn(|| assembly.pop()).take(usize::from(items)) {
                        // The numbers of a subscription end with it, and some servers and events have none.
                        if !is_numbered {
                            continue;
                        }
                        match item {
                            EventItem::Event(event) => {
                                if let Some(seq @ 1..=LAST) = event.seq {
                                    prop_assert_eq!(seq, next);
                                    next += 1;
                                }
                            }
                            EventItem::Missed { from, to } => {
                                prop_assert!(from == next && to >= from);
                                next = to + 1;
                            }
                            other => prop_assert!(false, "{:?}", other),
                        }
                    }
                }
            }
        }
    }
}
