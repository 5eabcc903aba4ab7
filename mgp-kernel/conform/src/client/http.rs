//! The kit as a server of Streamable HTTP on this machine.

use std::convert::Infallible;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt as _, Collected, Either, Full};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::kit_server::{KitServer, Reaction};
use crate::link::{Headers, LinkError};

type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// The kit, and the news that a client sent something.
struct Served {
    kit: Mutex<KitServer>,
    received: Notify,
    patience: Duration,
}

/// Serves a client, to which the URL is its last argument, until it ends, or sends nothing any more.
pub(super) async fn serve(
    command: &[String],
    kit: KitServer,
    patience: Duration,
) -> Result<KitServer, LinkError> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(LinkError::Unstarted)?;
    let address = listener.local_addr().map_err(LinkError::Unstarted)?;
    let [program, args @ ..] = command else { return Err(LinkError::Closed) };
    let mut program = Command::new(program)
        .args(args)
        .arg(format!("http://{address}/mcp"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(LinkError::Unstarted)?;
    let served = Arc::new(Served { kit: Mutex::new(kit), received: Notify::new(), patience });
    // Aborted when this returns.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((stream, _)) = accepted {
                    let served = served.clone();
                    let service = service_fn(move |request| respond(request, served.clone()));
                    let connection = hyper::server::conn::http1::Builder::new();
                    connections.spawn(connection.serve_connection(TokioIo::new(stream), service));
                }
            }
            _ = program.wait() => break,
            silent = timeout(patience * 2, served.received.notified()) => {
                if silent.is_err() {
                    break;
                }
            }
        }
    }
    let empty = KitServer::new("", &[]);
    Ok(std::mem::replace(&mut served.kit.lock(), empty))
}

async fn respond(request: Request<Incoming>, served: Arc<Served>) -> Result<Response<Body>, Infallible> {
    served.received.notify_one();
    if request.method() != Method::POST {
        let status = if request.method() == Method::DELETE { 200 } else { 405 };
        return Ok(response(status, false, Either::Left(Full::default())));
    }
    let headers: Headers = request
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = request.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
    let Ok(message) = serde_json::from_slice(&body) else {
        return Ok(response(400, false, Either::Left(Full::default())));
    };
    let reaction = served.kit.lock().receive(message, &headers);
    // Another request of the client may wait for the answer that this one brings.
    served.received.notify_waiters();
    let (status, begins_session) = (reaction.status, reaction.begins_session);
    let body = if reaction.first.is_empty() {
        let text = reaction.answer.map(|answer| answer.to_string()).unwrap_or_default();
        Either::Left(Full::new(text.into()))
    } else {
        Either::Right(events(reaction, served))
    };
    Ok(response(status, begins_session, body))
}

fn response(status: u16, begins_session: bool, body: Body) -> Response<Body> {
    let kind = if matches!(body, Either::Right(_)) { "text/event-stream" } else { "application/json" };
    let mut response = Response::builder().status(status).header("content-type", kind);
    if begins_session {
        response = response.header("mcp-session-id", SESSION);
    }
    response.body(body).expect("the status and the headers are valid")
}

/// The id of the sessions of the kit.
const SESSION: &str = "mgp-conform-session";

/// Sends the requests of the kit, waits until the client has answered them, and then answers the client.
fn events(reaction: Reaction, served: Arc<Served>) -> Channel<Bytes> {
    let (mut sender, body) = Channel::new(16);
    // Ends with the connection, or when the client has not answered for a while.
    tokio::spawn(async move {
        for message in &reaction.first {
            let _ = sender.send(event(message)).await;
        }
        let answered = async {
            loop {
                let received = served.received.notified();
                if !served.kit.lock().is_waiting() {
                    return;
                }
                received.await;
            }
        };
        if timeout(served.patience, answered).await.is_err() {
            served.kit.lock().give_up();
        }
        if let Some(answer) = &reaction.answer {
            let _ = sender.send(event(answer)).await;
        }
    });
    body
}

fn event(message: &Value) -> Frame<Bytes> {
    Frame::data(format!("event: message\ndata: {message}\n\n").into())
}
