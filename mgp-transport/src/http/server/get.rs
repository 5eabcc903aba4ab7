//! GET, which reads streams, and DELETE, which ends sessions.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use mgp_types::Validity;

use super::HttpServer;
use super::body::{Events, HttpBody};
use super::call::Touch;
use super::head::{Head, Marks, SessionMark, Version};
use super::replay::Gone;
use super::respond::{Refusal, events, with_status};
use super::stream::parse_event_id;
use crate::Accept;

impl<A: Accept> HttpServer<A> {
    /// Reads the stream of a session that belongs to no request, or resumes any stream.
    pub(super) fn get(&self, parts: &Parts, head: &Head<'_>) -> Result<Response<HttpBody>, Refusal> {
        let mark = session(&head.marks)?;
        if !head.accepts.events {
            return Err(Refusal::because(StatusCode::NOT_ACCEPTABLE, "`Accept` must name text/event-stream"));
        }
        let session = Arc::clone(&self.find(mark, parts)?.session);
        let (stream, reader) = match head.last_event {
            None => {
                let stream = Arc::clone(session.standalone());
                let reader = stream.attach(None).map_err(gone)?;
                (stream, reader)
            }
            Some(id) => {
                let (number, last) = parse_event_id(id.as_bytes()).ok_or_else(|| gone(Gone::Unknown))?;
                session.resume(number, last).map_err(gone)?
            }
        };
        let watch = parts.extensions.get::<Validity>().map(|validity| {
            let stream = Arc::downgrade(&stream);
            validity.on_end(move |_| {
                if let Some(stream) = stream.upgrade() {
                    stream.close();
                }
            })
        });
        Ok(events(HttpBody::events(Events::new(stream, reader).holding((Touch(session), watch)))))
    }

    /// Ends a session.
    pub(super) fn delete(&self, parts: &Parts, head: &Head<'_>) -> Result<Response<HttpBody>, Refusal> {
        let live = self.find(session(&head.marks)?, parts)?;
        self.sessions().remove(live.session.id);
        Ok(with_status(StatusCode::NO_CONTENT, HttpBody::empty()))
    }
}

/// Returns the session that the request names. Without sessions the server answers POST only.
fn session(marks: &Marks) -> Result<SessionMark, Refusal> {
    match (&marks.version, marks.session) {
        (Version::Known(revision), _) if revision.is_stateless() => Err(not_allowed()),
        (_, SessionMark::Absent) => {
            Err(Refusal::because(StatusCode::BAD_REQUEST, "the header Mcp-Session-Id is missing"))
        }
        (Version::Unknown(_), _) => {
            Err(Refusal::because(StatusCode::BAD_REQUEST, "unsupported MCP-Protocol-Version"))
        }
        (_, session) => Ok(session),
    }
}

pub(super) fn not_allowed() -> Refusal {
    Refusal::because(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed here")
}

/// Returns the refusal of a stream that cannot be resumed. Its status is 400; 404 would mean that the session is gone.
fn gone(gone: Gone) -> Refusal {
    Refusal::because(
        StatusCode::BAD_REQUEST,
        match gone {
            Gone::Forgotten => "the events behind Last-Event-ID are no longer kept",
            Gone::Unknown => "Last-Event-ID names no event of this session",
        },
    )
}
