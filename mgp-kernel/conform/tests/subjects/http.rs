//! The right server over HTTP, and its defects there.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;

use super::defects::{is_of_era, spoil};
use super::server::{Reply, RightServer, STATELESS, era_of, error};

/// The servers of the sessions, and one for the stateless era, whose key is empty.
type Sessions = Arc<Mutex<BTreeMap<String, RightServer>>>;

/// Serves on a port of this machine, with a defect, and returns the URL.
pub(crate) async fn serve(defect: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let sessions = Sessions::default();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let sessions = sessions.clone();
            let service = service_fn(move |request| respond(request, sessions.clone(), defect));
            let connection = hyper::server::conn::http1::Builder::new();
            tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
        }
    });
    url
}

async fn respond(
    request: Request<Incoming>,
    sessions: Sessions,
    defect: &'static str,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let headers = request.headers().clone();
    let header = move |name: &str| headers.get(name).and_then(|value| Some(value.to_str().ok()?.to_owned()));
    let version = header("mcp-protocol-version");
    let method = request.method().clone();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let message = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    let era = era_of(&message, version.as_deref(), true);
    let breaks =
        |rule: &str| defect.split_once('-').is_some_and(|(_, name)| name == rule) && is_of_era(defect, era);
    let mut reply = Reply { status: 200, ..Reply::default() };
    if header("origin").is_some() && !breaks("http-origin") {
        reply.status = 403;
    } else if method == Method::DELETE {
        if !breaks("http-session-ended") {
            sessions.lock().remove(&header("mcp-session-id").unwrap_or_default());
        }
    } else if method == Method::GET {
        reply.status = if breaks("http-get") { 200 } else { 405 };
    } else if message.is_null() {
        reply = Reply { status: 400, messages: vec![error(&Value::Null, -32700, "parse error")], ..reply };
    } else if era == STATELESS {
        let mut sessions = sessions.lock();
        let server = sessions.entry(String::new()).or_default();
        reply = match mismatch(&message, &header).filter(|rule| !breaks(rule)) {
            Some(_) => {
                Reply { status: 400, messages: vec![error(&message["id"], -32020, "header")], ..reply }
            }
            None => server.reply(&message, era),
        };
        if is_of_era(defect, era) {
            spoil(defect, server, &message, &mut reply);
        }
        if breaks("http-no-session") {
            reply.headers.push(("mcp-session-id", "subject".into()));
        }
        if breaks("meta-missing") && reply.messages.last().is_some_and(|answer| answer["result"].is_object())
        {
            reply.status = 200;
        }
    } else {
        reply = in_session(defect, &message, &header, &mut sessions.lock(), &breaks);
    }
    let is_stream = reply.messages.len() > 1;
    let body = if is_stream {
        reply.messages.iter().map(|message| ["data: ", &message.to_string(), "\n\n"].concat()).collect()
    } else {
        reply.messages.first().map(ToString::to_string).unwrap_or_default()
    };
    let kind = if breaks("http-content-type") && !is_stream {
        "text/plain"
    } else if is_stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    let mut response = Response::builder().status(reply.status).header("content-type", kind);
    for (name, value) in reply.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(body.into())).unwrap())
}

/// Returns the rule about headers of the stateless era that a request breaks.
fn mismatch(message: &Value, header: &impl Fn(&str) -> Option<String>) -> Option<&'static str> {
    let params = &message["params"];
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    if version.is_string() && header("mcp-protocol-version").as_deref() != version.as_str() {
        return Some("http-version-mismatch");
    }
    if message["method"].is_string() && header("mcp-method").as_deref() != message["method"].as_str() {
        return Some("http-method-missing");
    }
    let name = params["name"].as_str().or_else(|| params["uri"].as_str());
    (name.is_some() && header("mcp-name").as_deref() != name).then_some("http-name-mismatch")
}

fn in_session(
    defect: &str,
    message: &Value,
    header: &impl Fn(&str) -> Option<String>,
    sessions: &mut BTreeMap<String, RightServer>,
    breaks: &impl Fn(&str) -> bool,
) -> Reply {
    let refuse = |status| Reply {
        status,
        messages: vec![error(&message["id"], -32600, "refused")],
        ..Reply::default()
    };
    let is_known = |version: String| ["2025-06-18", "2025-11-25"].contains(&version.as_str());
    if !header("mcp-protocol-version").is_none_or(is_known) && !breaks("http-version-invalid") {
        return refuse(400);
    }
    if message["method"] == "initialize" {
        let space = if breaks("http-session-visible") { " " } else { "-" };
        let session = format!("subject{space}{}", sessions.len());
        let mut server = RightServer::default();
        let mut reply = server.reply(message, "2025-11-25");
        spoil_session(defect, &server, message, &mut reply);
        sessions.insert(session.clone(), server);
        return Reply { headers: vec![("mcp-session-id", session)], ..reply };
    }
    let mut spare = RightServer::default();
    let server = match header("mcp-session-id") {
        Some(session) => sessions.get_mut(&session),
        None if breaks("http-session-missing") => Some(&mut spare),
        None => return refuse(400),
    };
    let Some(server) = server else { return refuse(404) };
    let mut reply = server.reply(message, "2025-11-25");
    spoil_session(defect, server, message, &mut reply);
    let is_notification = reply.messages.is_empty() && message["id"].is_null();
    let status = if is_notification && breaks("http-accepted") { 200 } else { reply.status };
    Reply { status, ..reply }
}

fn spoil_session(defect: &str, server: &RightServer, message: &Value, reply: &mut Reply) {
    if is_of_era(defect, "2025-11-25") {
        spoil(defect, server, message, reply);
    }
}
