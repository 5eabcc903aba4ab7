//! Tests of streamed results at the server.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::{Error, Method, Object, Outbox, Request, Response, StreamId, code};
use proptest::prelude::*;
use tower_service::Service;

use super::{answered, call, chunk, layered, start, streamed_call};
use crate::doubles::{TestPort, object, result, settle};

/// Returns a tool that thinks in three chunks and returns `result`.
async fn think(request: Request, whole: &'static str) -> Result<Response, Error> {
    let outbox = request.context.outbox;
    for part in ["Quantum ", "computing ", "is"] {
        outbox.notify(chunk(part)).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(result(whole))
}

const WHOLE: &str = r#"{"content":[{"type":"text","text":"Quantum computing is"}]}"#;

// covers: MGP-12.1-01, MGP-12.3-01, MGP-12.4-01, MGP-12.4-03..05, MGP-12.5-01..04
#[tokio::test(start_paused = true)]
async fn chunks_leave_numbered_before_an_answer_that_is_complete() {
    let (layer, mut service) = layered(|request| think(request, WHOLE));
    let port = TestPort::new();
    let request = streamed_call(&port);
    let stream = request.context.outbox.stream();
    let answer = service.call(request).await.unwrap();
    let chunks = [
        r#"{"index":0,"content":{"type":"text","text":"Quantum "},"done":false}"#,
        r#"{"index":1,"content":{"type":"text","text":"computing "},"done":false}"#,
        r#"{"index":2,"content":{"type":"text","text":"is"},"done":false}"#,
    ];
    assert_eq!(port.params(), chunks);
    assert_eq!(port.methods(), ["mgp.stream.chunk"; 3]);
    assert_eq!(port.streams(), [stream; 3]);
    assert_eq!(
        answered(&answer),
        concat!(
            r#"{"_mgp":{"streamed":true,"chunks_sent":3,"duration_ms":300},"#,
            r#""content":[{"type":"text","text":"Quantum computing is"}]}"#
        )
    );
    assert_eq!(layer.calls(), 0);
}

// covers: MGP-12.5-05
#[tokio::test(start_paused = true)]
async fn a_tool_may_leave_the_content_to_the_layer() {
    let (_, mut service) = layered(|request| think(request, r#"{"content":[]}"#));
    let answer = service.call(streamed_call(&TestPort::new())).await.unwrap();
    let summary = r#"{"streamed":true,"chunks_sent":3,"duration_ms":300}"#;
    let content = r#"[{"type":"text","text":"Quantum computing is"}]"#;
    assert_eq!(answered(&answer), format!(r#"{{"content":{content},"_mgp":{summary}}}"#));
}

// covers: MGP-12.3-01
#[tokio::test(start_paused = true)]
async fn of_who_does_not_ask_neither_the_outbox_nor_the_result_is_touched() {
    for params in ["{}", r#"{"_mgp":{"stream":false}}"#, r#"{"_mgp":{"stream":"yes"}}"#] {
        let (layer, mut service) = layered(|request| async move {
            let (port, _) = request.context.outbox.into_parts().unwrap();
            tokio::task::yield_now().await;
            // The port is still the one that came with the request.
            assert_eq!(Arc::strong_count(&port), 2);
            Ok(result(WHOLE))
        });
        let port = TestPort::new();
        let answer = service.call(call(&port, &["streaming"], params)).await.unwrap();
        assert_eq!(answered(&answer), WHOLE);
        assert_eq!(layer.calls(), 0);
    }
}

// covers: MGP-12.1-01
#[tokio::test]
async fn a_tool_that_streams_nothing_has_its_result_untouched() {
    let (_, mut service) = layered(|_| async { Ok(result(WHOLE)) });
    let answer = service.call(streamed_call(&TestPort::new())).await.unwrap();
    assert_eq!(answered(&answer), WHOLE);
    let (_, mut service) = layered(|_| async { Err(Error::invalid_params("no")) });
    let error = service.call(streamed_call(&TestPort::new())).await.unwrap_err();
    assert_eq!(error.code(), code::INVALID_PARAMS);
}

// covers: MGP-12.2-01, MGP-12.3-02, MGP-12.7-01
#[tokio::test]
async fn without_the_extension_requests_pass_untouched() {
    for extensions in [&[][..], &["audit", "progress"]] {
        for (kind, method) in [
            (Request::call as fn(&'static str, Object) -> Request, "mgp/stream/cancel"),
            (Request::notify, "notifications/mgp.stream.pace"),
            (Request::notify, "notifications/mgp.stream.gap"),
        ] {
            let (_, mut service) =
                layered(|request| async move { Err(Error::method_not_found(&request.method)) });
            let port = TestPort::new();
            let mut request = call(&port, extensions, "{}");
            request.kind = kind(method, Object::new()).kind;
            request.method = Method::from(method);
            let error = service.call(request).await.unwrap_err();
            assert_eq!(error.code(), code::METHOD_NOT_FOUND);
        }
        let (layer, mut service) = layered(|request| async move {
            let (port, _) = request.context.outbox.into_parts().unwrap();
            tokio::task::yield_now().await;
            // The port is still the one that came with the request.
            assert_eq!(Arc::strong_count(&port), 2);
            Ok(result(WHOLE))
        });
        let port = TestPort::new();
        let running = start(&mut service, call(&port, extensions, r#"{"_mgp":{"stream":true}}"#)).await;
        assert_eq!(layer.calls(), 0);
        assert_eq!(answered(&running.task.await.unwrap().unwrap()), WHOLE);
    }
}

#[tokio::test]
async fn other_messages_of_the_handler_pass_unchanged() {
    let (_, mut service) = layered(|request| async move {
        let outbox = request.context.outbox;
        outbox.notify(Request::notify(Method::PROGRESS, object(r#"{"progress":1}"#))).await?;
        outbox.notify(chunk("a")).await?;
        outbox.notify(Request::notify(Method::STREAM_PROGRESS, object(r#"{"progress":0.5}"#))).await?;
        outbox.call(Request::call(Method::ELICIT, Object::new())).await
    });
    let port = TestPort::answering(r#"{"action":"cancel"}"#);
    let answer = service.call(streamed_call(&port)).await.unwrap();
    assert_eq!(port.called.lock()[0].method, Method::ELICIT);
    assert_eq!(port.methods(), ["progress", "mgp.stream.chunk", "mgp.stream.progress"]);
    assert!(answered(&answer).ends_with(r#""action":"cancel"}"#));
}

#[tokio::test]
async fn the_last_chunk_can_say_so_and_what_is_no_content_is_refused() {
    let (_, mut service) = layered(|request| async move {
        let outbox = request.context.outbox;
        let send = |params: &str| outbox.notify(Request::notify(Method::STREAM_CHUNK, object(params)));
        for wrong in ["{}", r#"{"content":"text"}"#, r#"{"content":null}"#] {
            assert!(send(wrong).await.is_err(), "{wrong}");
        }
        send(r#"{"index":41,"content":{"type":"text","text":"a"},"done":true}"#).await?;
        Ok(Response::empty())
    });
    let port = TestPort::new();
    service.call(streamed_call(&port)).await.unwrap();
    assert_eq!(port.params(), [r#"{"index":0,"content":{"type":"text","text":"a"},"done":true}"#]);
}

#[tokio::test]
async fn the_chunks_of_a_call_that_goes_on_are_numbered_from_there_and_keep_their_checkpoints() {
    let (_, mut service) = layered(|request| async move {
        let outbox = request.context.outbox;
        let send = |params: &str| outbox.notify(Request::notify(Method::STREAM_CHUNK, object(params)));
        send(r#"{"content":{"type":"text","text":"a"},"first_index":41}"#).await?;
        let checkpoint = r#""operation_id":"op","checkpoint_token":"ck""#;
        send(&format!(r#"{{"content":{{"type":"text","text":"b"}},{checkpoint},"first_index":7}}"#)).await?;
        Ok(Response::empty())
    });
    let port = TestPort::new();
    let answer = service.call(streamed_call(&port)).await.unwrap();
    assert_eq!(
        port.params(),
        [
            r#"{"index":41,"content":{"type":"text","text":"a"},"done":false}"#,
            r#"{"index":42,"content":{"type":"text","text":"b"},"done":false,"operation_id":"op","checkpoint_token":"ck"}"#,
        ]
    );
    assert!(answered(&answer).contains(r#""chunks_sent":43"#), "{}", answered(&answer));
}

#[tokio::test]
async fn nothing_is_streamed_once_the_call_is_over() {
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<Outbox>(1);
    let (_, mut service) = layered(move |request| {
        let sender = sender.clone();
        async move {
            let _ = sender.send(request.context.outbox).await;
            Ok(Response::empty())
        }
    });
    let port = TestPort::new();
    let answer = service.call(streamed_call(&port)).await.unwrap();
    let left_over = receiver.recv().await.unwrap();
    assert!(left_over.notify(chunk("late")).await.is_err());
    assert!(port.methods().is_empty());
    assert_eq!(answered(&answer), "{}");
    drop(service.call(streamed_call(&port)));
}

#[tokio::test]
async fn a_chunk_that_was_dropped_while_it_waited_leaves_its_number_to_the_next() {
    let (_, mut service) = layered(|request| async move {
        let outbox = request.context.outbox;
        let waiting = tokio::time::timeout(Duration::from_millis(5), outbox.notify(chunk("dropped"))).await;
        assert!(waiting.is_err());
        outbox.notify(chunk("sent")).await?;
        Ok(Response::empty())
    });
    let port = TestPort::with_room(0);
    tokio::time::pause();
    let running = start(&mut service, streamed_call(&port)).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    port.make_room(1);
    let answer = running.task.await.unwrap().unwrap();
    assert_eq!(port.params(), [r#"{"index":0,"content":{"type":"text","text":"sent"},"done":false}"#]);
    assert!(answered(&answer).starts_with(r#"{"content":[{"type":"text","text":"sent"}]"#));
}

#[tokio::test]
async fn a_call_without_a_way_back_is_answered_all_the_same() {
    let (layer, mut service) = layered(|request| async move {
        assert!(!request.context.outbox.is_open());
        request.context.outbox.notify(chunk("nowhere")).await?;
        tokio::task::yield_now().await;
        Ok(result(WHOLE))
    });
    let mut request = streamed_call(&TestPort::new());
    request.context.outbox = Outbox::on(StreamId::fresh());
    let running = start(&mut service, request).await;
    assert_eq!(answered(&running.task.await.unwrap().unwrap()), WHOLE);
    settle().await;
    assert_eq!(layer.calls(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    // covers: MGP-12.4-03
    #[test]
    fn concurrent_writers_have_one_numbering(writers in 1_usize..8, chunks in 1_usize..30, room in 0_usize..20) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let port = TestPort::with_room(room);
        let answer = runtime.block_on(async {
            let (_, mut service) = layered(move |request| async move {
                let write = |writer: usize| {
                    let outbox = request.context.outbox.clone();
                    tokio::spawn(async move {
                        for _ in 0..chunks {
                            outbox.notify(chunk(&writer.to_string())).await.unwrap();
                        }
                    })
                };
                let tasks: Vec<_> = (0..writers).map(write).collect();
                for task in tasks {
                    task.await.unwrap();
                }
                Ok(Response::empty())
            });
            let call = tokio::spawn(service.call(streamed_call(&port)));
            tokio::task::yield_now().await;
            port.make_room(writers * chunks);
            call.await.unwrap().unwrap()
        });
        let sent = port.params();
        prop_assert_eq!(sent.len(), writers * chunks);
        let mut joined = String::new();
        for (index, params) in sent.iter().enumerate() {
            let params: serde_json::Value = serde_json::from_str(params).unwrap();
            prop_assert_eq!(params["index"].as_u64(), Some(index as u64));
            joined.push_str(params["content"]["text"].as_str().unwrap());
        }
        let answer: serde_json::Value = answer.to_raw().to().unwrap();
        prop_assert_eq!(answer["content"][0]["text"].as_str(), Some(joined.as_str()));
        prop_assert_eq!(answer["_mgp"]["chunks_sent"].as_u64(), Some(sent.len() as u64));
    }
}
