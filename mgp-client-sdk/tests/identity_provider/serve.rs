//! The way of a request to its endpoint.

use std::convert::Infallible;
use std::sync::Arc;

use http::StatusCode;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::exchange::{self, Answer, Form, Request};
use super::fault::{Endpoint, Fault};
use super::{State, authorize, clients, device, documents, token};

pub(super) async fn serve(state: Arc<State>, listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let state = state.clone();
                async move { Ok::<_, Infallible>(answer(&state, request).await) }
            });
            // Without connections that are kept, a provider that is stopped is gone for everybody.
            let http =
                http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
            // A client that hangs up early gets no answer.
            let _ = http.await;
        });
    }
}

async fn answer(state: &State, request: http::Request<Incoming>) -> Answer {
    let (head, body) = request.into_parts();
    let Some(endpoint) = endpoint(state, head.uri.path()) else {
        return exchange::status(StatusCode::NOT_FOUND);
    };
    let Ok(body) = Limited::new(body, MAX_BODY_BYTES).collect().await else {
        return exchange::status(StatusCode::PAYLOAD_TOO_LARGE);
    };
    state.hits.add(endpoint);
    if let Some(answer) = fault(state, endpoint).await {
        return answer;
    }
    let query = Form::read(head.uri.query().unwrap_or_default().as_bytes());
    let request = Request { method: head.method, headers: head.headers, query, body: body.to_bytes() };
    let answered = match endpoint {
        Endpoint::Metadata => Ok(documents::metadata(state)),
        Endpoint::Jwks => Ok(exchange::json(StatusCode::OK, &state.keys.lock().published())),
        Endpoint::Authorize => authorize::authorize(state, &request).await,
        Endpoint::Token => token::token(state, &request).await,
        Endpoint::Register => clients::register(state, &request),
        Endpoint::Introspect => token::introspect(state, &request).await,
        Endpoint::Device => device::begin(state, &request).await,
        Endpoint::DevicePage => device::page(state, &request),
        Endpoint::ClientDocument => Ok(documents::client(state)),
    };
    answered.unwrap_or_else(|refusal| refusal.answer())
}

/// Returns the endpoint at a path. Metadata are where both of their standards say, for an issuer with a path, too.
fn endpoint(state: &State, path: &str) -> Option<Endpoint> {
    let documents = state.settings.lock().documents;
    let own = path.strip_prefix(&state.path).and_then(Endpoint::at);
    if let Some(endpoint) = own {
        let is_there = endpoint != Endpoint::Metadata || documents != super::Documents::OauthOnly;
        return is_there.then_some(endpoint);
    }
    let kind = path.strip_suffix(&state.path)?;
    let is_there = match kind {
        "/.well-known/oauth-authorization-server" => documents != super::Documents::OpenIdOnly,
        "/.well-known/openid-configuration" => documents != super::Documents::OauthOnly,
        _ => false,
    };
    is_there.then_some(Endpoint::Metadata)
}

async fn fault(state: &State, asked: Endpoint) -> Option<Answer> {
    let faults = state.faults.lock().clone();
    for fault in faults {
        match fault {
            Fault::Slow(endpoint) if endpoint == asked => std::future::pending::<()>().await,
            Fault::Oversized(endpoint) if endpoint == asked => {
                let body = format!("{{\"padding\":\"{}\"}}", "x".repeat(OVERSIZED_BYTES));
                return Some(exchange::with(StatusCode::OK, "application/json", body));
            }
            Fault::Failing(endpoint, status) if endpoint == asked => {
                return Some(exchange::status(StatusCode::from_u16(status).unwrap()));
            }
            _ => {}
        }
    }
    None
}

const MAX_BODY_BYTES: usize = 256 << 10;
const OVERSIZED_BYTES: usize = 16 << 20;
