//! Tests of the client's reader.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Request, RequestKind, Response, StreamId, code,
};
use parking_lot::Mutex;
use tower_service::Service;

use super::super::{StreamPart, StreamReader};
use super::{Dropped, StreamService, answered, chunk, layered, session};
use crate::doubles::{self, TestPort, TestServer, object, result, settle, text};

fn tool_call() -> Request {
    Request::call(Method::TOOLS_CALL, object(r#"{"name":"think"}"#))
}

/// Returns the number or the range that a part is about, or its progress.
fn short(part: &StreamPart) -> String {
    match part {
        StreamPart::Chunk(chunk) => format!("{}:{}", chunk.index, chunk.content.as_text().unwrap_or("?")),
        StreamPart::Progress(progress) => format!("{}%", progress.progress * 100.0),
        StreamPart::Gap { missing } => format!("gap {missing:?}"),
    }
}

async fn read_all<S: mgp_types::RpcService>(reader: &mut StreamReader<S>) -> Vec<String> {
    reader.map(|part| short(&part)).collect().await
}

/// Returns a server that sends these messages about the call before it answers, and a record of the messages that it is
/// told.
fn scripted(
    messages: &'static [(&'static str, &'static str)],
    answer: &'static str,
) -> (TestServer, Arc<Mutex<Vec<Request>>>) {
    let requests = Arc::<Mutex<Vec<Request>>>::default();
    let seen = requests.clone();
    let server = doubles::server(move |request| {
        seen.lock().push(request.clone());
        async move {
            if request.method != Method::TOOLS_CALL {
                return Ok(Response::empty());
            }
            for (method, params) in messages {
                request.context.outbox.notify(Request::notify(*method, object(params))).await?;
                tokio::task::yield_now().await;
            }
            Ok(result(answer))
        }
    });
    (server, requests)
}

const CHUNK: &str = "notifications/mgp.stream.chunk";

// covers: MGP-12.3-01, MGP-12.4-01, MGP-12.6-01, MGP-12.6-03..05
#[tokio::test(start_paused = true)]
async fn parts_come_in_order_and_then_the_result() {
    let (server, requests) = scripted(
        &[
            (CHUNK, r#"{"index":1,"content":{"type":"text","text":"b"},"done":false}"#),
            (CHUNK, r#"{"index":0,"content":{"type":"text","text":"a"},"done":false}"#),
            (CHUNK, r#"{"index":1,"content":{"type":"text","text":"again"}}"#),
            (
                "notifications/mgp.stream.progress",
                r#"{"progress":0.65,"message":"Processing batch 13/20","estimated_remaining_ms":4500}"#,
            ),
            (CHUNK, r#"{"index":"2"}"#),
            (CHUNK, r#"{"index":2,"content":{"type":"text","text":"c"},"done":true}"#),
        ],
        r#"{"content":[],"_mgp":{"streamed":true,"chunks_sent":3,"duration_ms":1}}"#,
    );
    let mut reader = StreamReader::open(server, tool_call());
    assert_eq!(read_all(&mut reader).await, ["0:a", "1:b", "65%", "2:c"]);
    assert!(reader.next().await.is_none());
    assert!(answered(&reader.finish().await.unwrap()).contains("chunks_sent"));
    let requests = requests.lock();
    assert_eq!(text(&requests[0].params.to_raw()), r#"{"name":"think","_mgp":{"stream":true}}"#);
    assert_eq!(requests.len(), 1);
}

// covers: MGP-12.3-02
#[tokio::test]
async fn a_server_that_does_not_stream_leaves_the_stream_empty() {
    let (server, _) = scripted(&[], r#"{"content":[]}"#);
    let mut reader = StreamReader::open(server, tool_call());
    assert!(reader.next().await.is_none());
    assert_eq!(answered(&reader.finish().await.unwrap()), r#"{"content":[]}"#);
    let refusing = doubles::server(|_| async { Err(Error::invalid_params("no")) });
    let mut reader = StreamReader::open(refusing, tool_call());
    assert!(reader.next().await.is_none());
    assert_eq!(reader.finish().await.unwrap_err().code(), code::INVALID_PARAMS);
}

// covers: MGP-12.2-01
#[tokio::test]
async fn a_session_that_lacks_streaming_is_not_asked_for_it() {
    for extensions in [&[][..], &["audit"]] {
        let (server, requests) = scripted(&[], "{}");
        let mut request = tool_call();
        request.context.session = Some(session(extensions));
        StreamReader::open(server, request).finish().await.unwrap();
        assert_eq!(text(&requests.lock()[0].params.to_raw()), r#"{"name":"think"}"#);
    }
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_asked_for_three_times_and_told_with_the_answer() {
    let times = Arc::<Mutex<Vec<Duration>>>::default();
    let seen = times.clone();
    let began = tokio::time::Instant::now();
    let server = doubles::server(move |request| {
        if request.kind == RequestKind::Notify {
            seen.lock().push(began.elapsed());
        }
        async move {
            if request.kind == RequestKind::Call {
                request.context.outbox.notify(chunk_at(1, "1")).await?;
                tokio::time::sleep(Duration::from_secs(30)).await;
            }
            Ok(Response::empty())
        }
    });
    let parts = read_all(&mut StreamReader::open(server, tool_call())).await;
    assert_eq!(parts, ["gap 0..1", "1:1"]);
    let millis: Vec<_> = times.lock().iter().map(Duration::as_millis).collect();
    assert_eq!(millis.len(), 3);
    for (asked, expected) in millis.into_iter().zip([1000, 2000, 3000]) {
        assert!((expected..expected + 10).contains(&asked), "{asked}");
    }
}

#[tokio::test]
async fn dropping_the_reader_drops_the_call() {
    let gone = Arc::<AtomicBool>::default();
    let seen = gone.clone();
    let server = doubles::server(move |_| {
        let dropped = Dropped(seen.clone());
        async move {
            let _dropped = dropped;
            std::future::pending().await
        }
    });
    let mut reader = StreamReader::open(server, tool_call());
    poll_fn(|cx| {
        assert!(reader.poll_next_unpin(cx).is_pending());
        Poll::Ready(())
    })
    .await;
    assert!(!gone.load(Ordering::Relaxed));
    drop(reader);
    assert!(gone.load(Ordering::Relaxed));
}

#[tokio::test]
async fn what_is_not_about_the_call_goes_where_it_went_before() {
    let (server, _) = scripted(&[("notifications/message", r#"{"level":"info","data":1}"#)], "{}");
    let port = TestPort::new();
    let mut request = tool_call();
    let stream = StreamId::fresh();
    request.context.outbox = Outbox::new(port.clone(), stream);
    let mut reader = StreamReader::open(server, request);
    assert_ne!(reader.stream(), stream);
    assert!(reader.next().await.is_none());
    assert_eq!((port.methods(), port.streams()), (vec!["message".to_owned()], vec![stream]));
}

fn chunk_at(index: u64, content: &str) -> Request {
    let mut request = chunk(content);
    request.params.set("index", mgp_types::RawJson::from_value(&index).unwrap());
    request
}

/// The methods and parameters that a server was told about calls.
type Told = Arc<Mutex<Vec<(String, Object)>>>;

/// Returns both sides with a connection between them that runs calls in tasks of its own, and loses chunks if `lossy`.
fn both_sides<F>(lossy: bool, tool: impl Fn(Request) -> F + Send + Sync + 'static) -> (TestServer, Told)
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let (_, service) = layered(tool);
    let messages = Told::default();
    let seen = messages.clone();
    let connection = doubles::server(move |mut request| {
        if request.method != Method::TOOLS_CALL {
            seen.lock().push((request.method.as_str().to_owned(), request.params.clone()));
        }
        request.context.session = Some(session(&["streaming"]));
        if lossy && let Some((port, stream)) = request.context.outbox.clone().into_parts() {
            request.context.outbox = Outbox::new(Arc::new(Losing(port)), stream);
        }
        let mut service: StreamService<TestServer> = service.clone();
        let task = tokio::spawn(service.call(request));
        async move { task.await.unwrap() }
    });
    (connection, messages)
}

/// An outbox that loses every third chunk the first time it is sent.
struct Losing(Arc<dyn OutboxPort>);

impl OutboxPort for Losing {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        let index: Option<u64> = notification.params.get("index").and_then(|index| index.to().ok());
        if index.is_some_and(|index| index % 3 == 1) && !notification.params.contains("_mgp") {
            return Box::pin(std::future::ready(Ok(())));
        }
        self.0.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.0.call(stream, request)
    }
}

async fn count_to(request: Request, chunks: usize, every: Duration) -> Result<Response, Error> {
    for number in 0..chunks {
        request.context.outbox.notify(chunk(&format!("{number} "))).await?;
        tokio::time::sleep(every).await;
    }
    tokio::time::sleep(Duration::from_secs(4)).await;
    Ok(result(r#"{"content":[]}"#))
}

#[tokio::test(start_paused = true)]
async fn lost_chunks_are_sent_again() {
    let (service, messages) = both_sides(true, |request| count_to(request, 201, Duration::from_millis(50)));
    let mut reader = StreamReader::open(service, tool_call());
    let parts = read_all(&mut reader).await;
    let expected: Vec<_> = (0..201).map(|number| format!("{number}:{number} ")).collect();
    assert_eq!(parts, expected);
    assert!(!messages.lock().is_empty());
    assert!(answered(&reader.finish().await.unwrap()).contains(r#""chunks_sent":201"#));
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_slows_the_server_and_loses_nothing() {
    let (service, messages) = both_sides(false, |request| count_to(request, 400, Duration::from_millis(1)));
    let mut reader = StreamReader::open(service, tool_call());
    let mut parts = Vec::new();
    while let Some(part) = reader.next().await {
        parts.push(short(&part));
        let pause = if parts.len() < 200 { 100 } else { 0 };
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    let expected: Vec<_> = (0..400).map(|number| format!("{number}:{number} ")).collect();
    assert_eq!(parts, expected);
    let rates: Vec<f64> = messages
        .lock()
        .iter()
        .map(|(_, pace)| pace.get("max_chunks_per_second").unwrap().to().unwrap())
        .collect();
    assert!((5.0..15.0).contains(&rates[0]), "{rates:?}");
    assert!(rates.last().unwrap() > &100_000.0, "{rates:?}");
    assert!(rates.len() < 20, "{rates:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing_that_comes_from_another_task() {
    let server = doubles::server(|request| async move {
        let brings = tokio::spawn(async move {
            for index in 0..200 {
                request.context.outbox.notify(chunk_at(index, "#")).await?;
            }
            Ok::<_, Error>(())
        });
        brings.await.unwrap()?;
        Ok(Response::empty())
    });
    let mut reader = StreamReader::open(server, tool_call());
    for index in 0..200 {
        assert_eq!(short(&reader.next().await.unwrap()), format!("{index}:#"));
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!(reader.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_for_long_stops_neither_the_server_nor_its_own_result() {
    let (service, _) = both_sides(false, |request| count_to(request, 150, Duration::from_millis(1)));
    let mut reader = StreamReader::open(service, tool_call());
    assert_eq!(short(&reader.next().await.unwrap()), "0:0 ");
    tokio::time::sleep(Duration::from_secs(6)).await;
    let parts = read_all(&mut reader).await;
    assert_eq!(parts.len(), 149, "{parts:?}");
    assert_eq!(parts[148], "149:149 ");
    assert!(answered(&reader.finish().await.unwrap()).contains("148 149 "));
}

// covers: MGP-12.7-01, MGP-12.7-04..06
#[tokio::test(start_paused = true)]
async fn a_reader_whose_queue_is_full_can_stop_the_call() {
    let (service, _) = both_sides(false, |request| count_to(request, 1000, Duration::ZERO));
    let mut reader = StreamReader::open(service, tool_call());
    assert_eq!(short(&reader.next().await.unwrap()), "0:0 ");
    settle().await;
    let cancelled = reader.cancel(None).await.unwrap();
    assert!(cancelled.cancelled);
    let partial = cancelled.partial_result.unwrap().content;
    assert!(partial[0].as_text().unwrap().starts_with("0 1 2 "));
    let parts = read_all(&mut reader).await;
    assert!(parts.len() >= 60, "{}", parts.len());
    let answer = reader.finish().now_or_never().unwrap().unwrap();
    assert!(answered(&answer).contains(r#""cancelled":true"#));
}
