//! Tests with hostile peers, handlers and wakers.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Wake, Waker};
use std::time::Duration;

use mgp_types::mcp::Elicited;
use mgp_types::mgp::CallbackRequest;
use mgp_types::{Context, RawJson, code};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::responder::{Link, asked};
use crate::callback::bench::CallbackBench;
use crate::callback::{Callback, CallbackResponder, Callbacks};
use crate::doubles::settle;

/// A waker that asks again as soon as it is woken, on the thread that wakes it.
struct AsksAgain {
    callbacks: Callbacks,
    looked: AtomicUsize,
}

impl Wake for AsksAgain {
    fn wake(self: Arc<Self>) {
        // Counting takes the lock on all questions.
        self.looked.fetch_add(self.callbacks.len().1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_woken_by_an_answer_may_use_the_callbacks_at_once() {
    let bench = CallbackBench::with_callbacks();
    let woken = Arc::new(AsksAgain { callbacks: bench.callbacks.clone(), looked: AtomicUsize::default() });
    let waker = Waker::from(woken.clone());
    let mut cx = TaskContext::from_waker(&waker);
    let mut asking = pin!(bench.callbacks.ask(&bench.context, "key", Callback::input("Who?")));
    assert!(asking.as_mut().poll(&mut cx).is_pending());
    let (id, bench) = (bench.id(), &bench);
    bench.respond(&id, "1").await.unwrap();
    assert_eq!(woken.looked.load(Ordering::Relaxed), 1);
    let std::task::Poll::Ready(Ok(Elicited::Accepted(answer))) = asking.poll(&mut cx) else {
        panic!("answered")
    };
    assert_eq!(answer.as_bytes(), b"1");
}

#[tokio::test(start_paused = true)]
async fn options_that_nobody_can_tell_apart_are_not_offered() {
    let bench = CallbackBench::with_callbacks();
    for options in [&["a", "b", "a"][..], &["a", ""], &["a", " \t"], &[]] {
        let question = Callback::selection("Which?", options.iter().copied());
        let refused = bench.callbacks.ask(&bench.context, "key", question).await.unwrap_err();
        assert_eq!(refused.code(), code::INTERNAL_ERROR, "{options:?}");
    }
    assert!(bench.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn every_timeout_is_told_as_one_that_can_be_kept() {
    for (timeout, millis) in [(Duration::ZERO, 1), (Duration::MAX, 86_400_000)] {
        let bench = CallbackBench::with_callbacks();
        let question = Callback::input("Who?").timeout(timeout);
        let late = bench.callbacks.ask(&bench.context, "key", question).await.unwrap_err();
        assert_eq!(late.code(), code::TIMEOUT);
        assert!(bench.lines()[0].ends_with(&format!(r#""timeout_ms":{millis}}}"#)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_takes_nothing_with_it() {
    let responder = CallbackResponder::new(async |request: CallbackRequest, _: Context| {
        assert!(request.message != "bad", "a handler fails");
        Some(RawJson::null())
    });
    let mut client = Link::new("s", &responder);
    client.asks(&asked("a", "bad")).await.unwrap();
    settle().await;
    client.asks(&asked("a", "bad")).await.unwrap();
    client.asks(&asked("b", "good")).await.unwrap();
    settle().await;
    assert_eq!(client.answers().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_time_of_zero_or_without_end_still_gives_people_time() {
    let responder = CallbackResponder::new(async |_: CallbackRequest, _: Context| {
        sleep(Duration::from_secs(59)).await;
        Some(RawJson::null())
    });
    let mut client = Link::new("s", &responder);
    client.asks(&asked("a", "?").with_timeout_ms(0)).await.unwrap();
    client.asks(&asked("b", "?").with_timeout_ms(u64::MAX)).await.unwrap();
    sleep(Duration::from_mins(1)).await;
    assert_eq!(client.answers().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn questions_are_bounded_by_their_size_too() {
    let handled = Arc::<AtomicUsize>::default();
    let count = handled.clone();
    let responder = CallbackResponder::new(move |_: CallbackRequest, _: Context| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::pending()
    });
    let mut client = Link::new("s", &responder);
    let large = "x".repeat(1 << 20);
    for number in 0..60 {
        client.asks(&asked(&number.to_string(), &large)).await.unwrap();
    }
    settle().await;
    assert_eq!(handled.load(Ordering::Relaxed), 7);
    client.asks(&asked("small", "?")).await.unwrap();
    settle().await;
    assert_eq!(handled.load(Ordering::Relaxed), 8);
}

#[tokio::test(start_paused = true)]
async fn what_servers_write_reaches_the_handler_as_it_is() {
    let seen = Arc::<Mutex<Vec<CallbackRequest>>>::default();
    let keep = seen.clone();
    let responder = CallbackResponder::new(move |request: CallbackRequest, _: Context| {
        keep.lock().push(request.clone());
        async move { RawJson::from_value(&request.options[0]).ok() }
    });
    let mut client = Link::new("s", &responder);
    let nasty = "\u{1b}[2J\u{202e}gpj.exe\0";
    client.asks(&asked("a", nasty).with_options([nasty, nasty, ""])).await.unwrap();
    settle().await;
    let request = seen.lock()[0].clone();
    assert_eq!((&*request.message, request.options.len()), (nasty, 3));
    assert_eq!(CallbackRequest::shown(&request.message), r"\u{1b}[2J\u{202e}gpj.exe\u{0}");
    let answer: String = client.server.called.lock()[0].params.get("response").unwrap().to().unwrap();
    assert_eq!(answer, nasty, "letter by letter");
}

#[test]
fn without_a_runtime_a_question_is_dropped() {
    let responder = CallbackResponder::new(async |_: CallbackRequest, _: Context| Some(RawJson::null()));
    let mut client = Link::new("s", &responder);
    let question = asked("a", "?");
    let mut taking = pin!(client.asks(&question));
    let mut cx = TaskContext::from_waker(Waker::noop());
    assert!(taking.as_mut().poll(&mut cx).is_ready());
    assert!(format!("{responder:?}").contains("known: 0"));
}
