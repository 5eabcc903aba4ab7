//! The answers to the readers of data, at `/data/REF`.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{HeaderName, IF_RANGE, RANGE};
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode};
use mgp_server_sdk::{ReferenceAnswer, ReferenceBody, ReferenceRequest};
use mgp_transport::http::HttpBody;
use mgp_types::mgp::{Outcome, Timestamp};
use tokio::sync::mpsc;

use super::DataBroker;
use super::broker::PATH;
use super::grants::DataGrant;

impl DataBroker {
    /// Returns whether data is served at this path.
    pub(crate) fn serves(&self, path: &str) -> bool {
        held(path).is_some() && self.is_on()
    }

    /// Returns the answer to a request for data.
    ///
    /// The signature in the address is all that a reader has to show: it holds for one copy, one server and a time. Once
    /// a reader has all of a copy, the copy is given up, and the address is worth nothing.
    pub(crate) fn answer(self: &Arc<Self>, request: &Parts) -> Response<HttpBody> {
        let (Some(held), Some(store)) = (held(request.uri.path()), self.served.get()) else {
            return empty(StatusCode::NOT_FOUND);
        };
        let grant = self.grants.get(held);
        let header = |name: HeaderName| request.headers.get(name).and_then(|value| value.to_str().ok());
        let query = request.uri.query().unwrap_or_default();
        let mut asked = ReferenceRequest::get(held, query);
        asked.method = request.method.as_str();
        (asked.range, asked.if_range) = (header(RANGE), header(IF_RANGE));
        asked.audience = grant.as_ref().map(|grant| grant.audience.as_str());
        let answer = store.answer(&asked, Timestamp::now());
        let Some(grant) = grant else { return empty(StatusCode::NOT_FOUND) };
        // An address that is for nobody in particular never leaves the kernel.
        let names_reader = query.split('&').any(|member| member.starts_with("aud="));
        if !names_reader || answer.status == 403 {
            self.note_refused(grant);
            return empty(StatusCode::FORBIDDEN);
        }
        self.response(held, grant, answer)
    }

    fn response(self: &Arc<Self>, id: &str, grant: DataGrant, answer: ReferenceAnswer) -> Response<HttpBody> {
        let mut response = Response::new(match answer.body {
            Some(body) => {
                let (send, receive) = mpsc::channel(PIECES);
                tokio::spawn(Arc::clone(self).deliver(id.into(), grant, body, send));
                HttpBody::from(receive)
            }
            None => HttpBody::default(),
        });
        *response.status_mut() =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in &answer.headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }

    /// Reads the pieces of a copy for its reader, until the reader has them all or is gone.
    async fn deliver(
        self: Arc<Self>,
        held: Box<str>,
        grant: DataGrant,
        mut body: ReferenceBody,
        reader: mpsc::Sender<Bytes>,
    ) {
        let mut bytes = 0;
        let reaches_end = loop {
            // A file is read where that may take its time.
            let read = tokio::task::spawn_blocking(move || (body.next_piece(), body)).await;
            let Ok((piece, rest)) = read else { break false };
            body = rest;
            match piece {
                Ok(Some(piece)) => {
                    let length = piece.len() as u64;
                    if reader.send(piece).await.is_err() {
                        break false;
                    }
                    bytes += length;
                }
                Ok(None) => break body.is_at_end(),
                Err(error) => {
                    tracing::error!(%error, "data that is held cannot be read");
                    break false;
                }
            }
        };
        let has_all = self.grants.note_sent(&held, bytes);
        if has_all && reaches_end {
            self.give_up(&held);
        }
        let event = self.event("delivered", &grant.origin, &grant.audience, Outcome::Success);
        let event = event.with_detail("ref_id", &*grant.ref_id).with_detail("bytes", &bytes);
        self.record(event.with_detail("agent_id", &grant.agent.access_id())).await;
    }

    /// Gives a copy up, whoever may still have its address.
    pub(super) fn give_up(&self, held: &str) -> bool {
        self.served.get().is_some_and(|store| store.release(held))
    }

    fn note_refused(self: &Arc<Self>, grant: DataGrant) {
        tracing::warn!(reader = %grant.audience, "a request for data has no signature that holds");
        let broker = Arc::clone(self);
        tokio::spawn(async move {
            let event = broker.event("refused", &grant.origin, &grant.audience, Outcome::Blocked);
            let event = event.with_detail("ref_id", &*grant.ref_id);
            broker.record(event.with_detail("agent_id", &grant.agent.access_id())).await;
        });
    }
}

/// Returns the id of a copy in a path.
fn held(path: &str) -> Option<&str> {
    path.strip_prefix(PATH)?.strip_prefix('/')
}

pub(crate) fn empty(status: StatusCode) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::default());
    *response.status_mut() = status;
    response
}

/// The pieces that are read ahead of a reader, of 64 KiB each.
const PIECES: usize = 4;
