//! Calls that come again, and what they are told.

use std::time::Duration;

use futures_util::future::join_all;
use mgp_types::Origin;
use tokio::time::{Instant, advance};

use super::*;
use crate::call::Deadline;
use crate::doubles::{call_of, secs};

// covers: EXT-05-04, EXT-05-05, EXT-05-07
#[tokio::test(start_paused = true)]
async fn a_call_that_comes_again_is_told_the_first_result_and_nothing_is_done() {
    let (book, server) = (IdempotencyBook::in_memory(), counting());
    let mut service = service(&book, &server);
    let (first, result) = split(call(&mut service, pay("k", r#"{"euro":5,"to":"x"}"#)).await.unwrap());
    advance(secs(7)).await;
    let (again, same) = split(call(&mut service, pay("k", r#"{ "to":"x","euro":5.0 }"#)).await.unwrap());
    assert_eq!(server.calls(), 1);
    assert_eq!(result.as_bytes(), br#"{"content":[],"number":0}"#);
    assert_eq!(same.as_bytes(), result.as_bytes());
    assert_eq!((first.was_replay, again.was_replay), (false, true));
    assert_eq!(first.original_timestamp, again.original_timestamp);
    assert_eq!(again.ttl.unwrap().seconds(), 60);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_learns_what_a_key_stands_for_before_it_makes_the_call() {
    let (book, server) = (IdempotencyBook::in_memory(), counting());
    let layer = IdempotencyLayer::new(book);
    assert!(layer.answer_again(&pay("k", "{}")).is_none(), "the key is new");
    let mut service = layer.layer(server.clone());
    let (_, result) = split(call(&mut service, pay("k", "{}")).await.unwrap());
    let (key_result, same) = split(layer.answer_again(&pay("k", "{}")).unwrap().await.unwrap().unwrap());
    assert!(key_result.was_replay);
    assert_eq!(same.as_bytes(), result.as_bytes());
    let other = layer.answer_again(&pay("k", r#"{"euro":1}"#)).unwrap().await.unwrap().unwrap_err();
    assert_eq!(reason(&other), "other_arguments");
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn without_a_book_or_in_front_of_one_that_has_its_own_every_call_is_made() {
    let book = IdempotencyBook::in_memory();
    for layer in [IdempotencyLayer::new(None), IdempotencyLayer::new(book).unless(|| true)] {
        let server = counting();
        let mut service = layer.layer(server.clone());
        for _ in 0..2 {
            assert!(layer.answer_again(&pay("k", "{}")).is_none());
            call(&mut service, pay("k", "{}")).await.unwrap();
        }
        assert_eq!(server.calls(), 2);
    }
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_its_server_and_its_tool() {
    let (book, server) = (IdempotencyBook::in_memory(), counting());
    let mut service = service(&book, &server);
    let security = || EffectiveSecurity::new(RiskLevel::Moderate);
    let tool = |server: &str, name: &str| {
        Some(ResolvedTool::new(server.into(), name.into(), Object::new(), security()))
    };
    let change = |change: &dyn Fn(&mut Request)| {
        let mut request = pay("k", "{}");
        change(&mut request);
        request
    };
    let all = [
        pay("k", "{}"),
        pay("K", "{}"),
        change(&|request| request.context.principal = Some(Principal::new("bob"))),
        change(&|request| request.context.principal = Some(Principal::operator("ada"))),
        change(&|request| request.context.principal = None),
        change(&|request| request.context.tool = tool("bank2", "pay")),
        change(&|request| request.context.tool = tool("bank", "pay2")),
        change(&|request| request.context.tool = tool("ban", "kpay")),
    ];
    let count = all.len();
    for request in all {
        call(&mut service, request).await.unwrap();
    }
    assert_eq!(server.calls(), count);
}

// covers: EXT-05-10
#[tokio::test]
async fn calls_that_come_at_once_are_made_once_and_told_the_same() {
    let (book, (server, open)) = (IdempotencyBook::in_memory(), gated());
    let service = service(&book, &server);
    let calls = (0..20).map(|_| {
        let mut service = service.clone();
        async move { call(&mut service, pay("k", "{}")).await }
    });
    let opening = async {
        while server.calls() == 0 {
            tokio::task::yield_now().await;
        }
        let other = call(&mut service.clone(), pay("k", r#"{"other":1}"#)).await.unwrap_err();
        assert_eq!(reason(&other), "other_arguments", "nobody waits to hear that");
        open.notify_one();
    };
    let (results, ()) = tokio::join!(join_all(calls), opening);
    assert_eq!(server.calls(), 1);
    let answers: Vec<_> = results.into_iter().map(|result| split(result.unwrap())).collect();
    assert!(answers.iter().all(|(_, result)| result.as_bytes() == br#"{"number":0}"#));
    assert_eq!(answers.iter().filter(|(key_result, _)| !key_result.was_replay).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_the_first_one_no_longer_than_for_itself() {
    let (book, server) = (IdempotencyBook::in_memory(), Upstream::after(secs(600)));
    let service = service(&book, &server);
    let mut first = service.clone();
    let running = tokio::spawn(async move { call(&mut first, pay("k", "{}")).await });
    while server.calls() == 0 {
        tokio::task::yield_now().await;
    }
    for (deadline, expected) in [(Some(5), 5), (None, 60)] {
        let began = Instant::now();
        let mut request = pay("k", "{}");
        if let Some(deadline) = deadline {
            request.extensions.insert(Deadline::at(began + secs(deadline)));
        }
        let error = call(&mut service.clone(), request).await.unwrap_err();
        assert_eq!((error.code(), error.recovery().unwrap().may_retry()), (3003, true));
        assert_eq!(began.elapsed(), Duration::from_secs(expected));
    }
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_when_its_caller_gives_up() {
    let (book, server) = (IdempotencyBook::in_memory(), Upstream::after(secs(30)));
    let mut service = service(&book, &server);
    let impatient = tokio::time::timeout(secs(1), call(&mut service, pay("k", "{}"))).await;
    assert!(impatient.is_err());
    let (key_result, _) = split(call(&mut service, pay("k", "{}")).await.unwrap());
    assert!(key_result.was_replay);
    assert_eq!((server.calls(), server.running()), (1, 0));
}

#[tokio::test]
async fn a_call_that_was_not_carried_out_is_made_again_and_one_that_failed_for_good_is_not() {
    for (error, calls) in [
        (Error::new(3000, "busy"), 2),
        (Error::from_origin(Origin::Peer, 1000, "no"), 2),
        (Error::input_required(), 2),
        (Error::from_origin(Origin::Peer, 4000, "wrong"), 1),
    ] {
        let (book, server) = (IdempotencyBook::in_memory(), Upstream::failing(&error));
        let mut service = service(&book, &server);
        for _ in 0..2 {
            let repeated = call(&mut service, pay("k", "{}")).await.unwrap_err();
            assert_eq!((repeated.code(), repeated.message()), (error.code(), error.message()));
        }
        assert_eq!(server.calls(), calls, "{error}");
    }
}

#[tokio::test]
async fn a_call_of_which_nobody_knows_the_end_is_refused_and_one_that_may_be_repeated_is_made() {
    let lost = Error::disconnected("the server is gone");
    let (book, server) = (IdempotencyBook::in_memory(), Upstream::failing(&lost));
    let mut service = service(&book, &server);
    assert_eq!(call(&mut service, pay("k", "{}")).await.unwrap_err().code(), 5002);
    let error = call(&mut service, pay("k", "{}")).await.unwrap_err();
    assert_eq!(reason(&error), "outcome_unknown");
    assert_eq!(server.calls(), 1);
    let mut harmless = pay("other", "{}");
    harmless.context.tool = call_of(r#"{"idempotentHint":true}"#).context.tool;
    for _ in 0..2 {
        assert_eq!(call(&mut service, harmless.clone()).await.unwrap_err().code(), 5002);
    }
    assert_eq!(server.calls(), 3);
}

#[tokio::test]
async fn a_panic_is_its_callers_and_leaves_nobody_waiting() {
    let (book, server) = (IdempotencyBook::in_memory(), Upstream::obeying());
    let service = service(&book, &server);
    let mut request = pay("k", "{}");
    request.params.set("name", RawJson::from_text("panics-late"));
    let mut first = service.clone();
    let broken = tokio::spawn(async move { call(&mut first, request).await }).await;
    assert!(broken.unwrap_err().is_panic());
    let error = call(&mut service.clone(), pay("k", "{}")).await.unwrap_err();
    assert_eq!(reason(&error), "outcome_unknown");
}

// covers: EXT-05-11
#[tokio::test]
async fn a_call_without_a_key_and_what_calls_no_tool_pass_untouched() {
    let (book, server) = (IdempotencyBook::in_memory(), counting());
    let mut service = service(&book, &server);
    let plain = |method: &'static str, meta: &str| {
        Request::call(method, Object::parse(format!(r#"{{"name":"pay","_meta":{meta}}}"#)).unwrap())
    };
    for request in [
        plain("tools/call", "{}"),
        plain("tools/call", r#"{"progressToken":1}"#),
        plain("resources/read", r#"{"idempotency_key":"k"}"#),
        plain("resources/read", r#"{"idempotency_key":"k"}"#),
    ] {
        let response = call(&mut service, request).await.unwrap();
        assert!(!Object::from_raw(&response.result).unwrap().contains("_meta"));
    }
    assert_eq!(server.calls(), 4);
    let wrong = plain("tools/call", r#"{"idempotency_key":"with space"}"#);
    assert_eq!(call(&mut service, wrong).await.unwrap_err().code(), -32602);
    assert_eq!(server.calls(), 4, "a key that is overlooked would let the call be made twice");
}

#[tokio::test]
async fn a_key_in_the_header_counts_as_one_in_the_body_and_two_have_to_agree() {
    let (book, server) = (IdempotencyBook::in_memory(), counting());
    let mut service = service(&book, &server);
    let with_header = |mut request: Request, key: &str| {
        let head = http::Request::builder().header("X-Idempotency-Key", key).body(()).unwrap();
        request.extensions.insert(head.into_parts().0);
        request
    };
    let mut bare = pay("k", "{}");
    bare.meta_mut().unwrap().remove("idempotency_key");
    call(&mut service, with_header(bare, "k")).await.unwrap();
    let (key_result, _) = split(call(&mut service, pay("k", "{}")).await.unwrap());
    assert!(key_result.was_replay);
    assert_eq!(key_result.ttl.unwrap().seconds(), 60, "the time is in the body");
    assert!(call(&mut service, with_header(pay("k", "{}"), "k")).await.is_ok());
    for wrong in ["other", "a b", ""] {
        let error = call(&mut service, with_header(pay("k", "{}"), wrong)).await.unwrap_err();
        assert_eq!(error.code(), -32602, "{wrong:?}");
    }
    assert_eq!(server.calls(), 1);
    let mut without_book = IdempotencyLayer::new(None).layer(server.clone());
    assert!(call(&mut without_book, with_header(pay("k", "{}"), "a b")).await.is_err());
    assert!(call(&mut without_book, with_header(pay("k", "{}"), "k")).await.is_ok());
}

#[tokio::test]
async fn a_result_that_is_too_large_is_told_once() {
    let server = Upstream::answering(|_| {
        let json = format!(r#"{{"content":"{}"}}"#, "x".repeat(1 << 20));
        Ok(Response::new(RawJson::parse(json).unwrap()))
    });
    let mut service = service(&IdempotencyBook::in_memory(), &server);
    assert!(call(&mut service, pay("k", "{}")).await.is_ok());
    assert_eq!(reason(&call(&mut service, pay("k", "{}")).await.unwrap_err()), "result_not_kept");
    assert_eq!(server.calls(), 1);
}
