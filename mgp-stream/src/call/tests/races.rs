//! Tests of cancellations that race with the end of a call.

use std::time::Duration;

use mgp_types::{Response, StreamId};
use tower_service::Service;

use super::{StreamService, answered, cancel, chunk, layered, streamed_call};
use crate::doubles::{TestPort, TestServer};
use crate::seeded_random::{self, SeededRandom};

// covers: MGP-12.7-01, MGP-12.7-04..06
#[test]
fn a_cancellation_that_races_with_the_end_finds_one_truth() {
    let (mut stopped, mut finished) = (0, 0);
    let is_all = seeded_random::run(0..1000, race, |won| match won {
        Won::Cancellation => stopped += 1,
        Won::Call => finished += 1,
    });
    assert!((stopped > 200 && finished > 200) || !is_all, "{stopped} {finished}");
}

// covers: MGP-12.7-04
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn threads_that_race_find_one_truth_too() {
    for round in 0..500 {
        let (layer, mut service) = layered(move |request| async move {
            for _ in 0..round % 7 {
                request.context.outbox.notify(chunk("#")).await?;
                tokio::task::yield_now().await;
            }
            Ok(Response::empty())
        });
        let request = streamed_call(&TestPort::new());
        let stream = request.context.outbox.stream();
        let mut other = service.clone();
        let call = tokio::spawn(service.call(request));
        let cancel = tokio::spawn(async move {
            for _ in 0..round % 5 {
                tokio::task::yield_now().await;
            }
            answered(&cancel(&mut other, stream).await)
        });
        let result = answered(&call.await.unwrap().unwrap());
        let reply = cancel.await.unwrap();
        let stopped = reply.contains(r#""cancelled":true"#);
        assert_eq!(result.contains(r#""cancelled":true"#), stopped, "round {round}: {result} {reply}");
        if stopped {
            assert_eq!(result.matches('#').count(), reply.matches('#').count(), "round {round}");
        }
        assert_eq!(layer.calls(), 0, "round {round}");
    }
}

enum Won {
    Cancellation,
    Call,
}

/// Runs a call and two cancellations of it, each after a number of turns that the dice give.
async fn race(dice: SeededRandom) -> Won {
    let times = dice.clone();
    let (layer, mut service) = layered(move |request| {
        let times = times.clone();
        async move {
            let chunks = times.below(4);
            for _ in 0..chunks {
                request.context.outbox.notify(chunk("#")).await?;
                pause(&times, 2).await;
            }
            pause(&times, 4).await;
            Ok(Response::empty())
        }
    });
    let port = TestPort::with_room(usize::try_from(dice.below(5)).unwrap());
    let request = streamed_call(&port);
    let stream = request.context.outbox.stream();
    let call = tokio::spawn(service.call(request));
    let cancel_at = |mut service: StreamService<TestServer>, stream: StreamId| {
        let times = dice.clone();
        tokio::spawn(async move {
            pause(&times, 6).await;
            cancel(&mut service, stream).await
        })
    };
    let cancels = [cancel_at(service.clone(), stream), cancel_at(service.clone(), stream)];
    pause(&dice, 3).await;
    port.make_room(8);
    let result = answered(&call.await.unwrap().unwrap());
    let mut answers = Vec::new();
    for cancel in cancels {
        answers.push(answered(&cancel.await.unwrap()));
    }
    answers.sort();
    let not_active = r#"{"cancelled":false,"reason":"not_active"}"#;
    assert_eq!(answers[0], not_active, "{answers:?}");
    let won = if answers[1] == not_active { Won::Call } else { Won::Cancellation };
    let cancelled = matches!(won, Won::Cancellation);
    assert_eq!(result.contains(r#""cancelled":true"#), cancelled, "{result}");
    if cancelled {
        let reply: serde_json::Value = serde_json::from_str(&answers[1]).unwrap();
        let result: serde_json::Value = serde_json::from_str(&result).unwrap();
        assert_eq!(reply["partial_result"]["content"], result["content"]);
    }
    let chunks = result.matches('#').count();
    assert_eq!(port.params().len(), chunks, "{result}");
    assert_eq!(layer.calls(), 0);
    won
}

async fn pause(dice: &SeededRandom, millis: u64) {
    let (millis, turns) = (dice.below(millis), dice.below(3));
    if millis > 0 {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
    for _ in 0..turns {
        tokio::task::yield_now().await;
    }
}
