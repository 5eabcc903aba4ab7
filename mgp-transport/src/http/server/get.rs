//! GET, which reads streams, and DELETE, which ends sessions.

use std::sync::Arc;

use http::request::Parts;
use http::{Response, StatusCode};
use mgp_types::Validity;

use super::HttpServer;
use super::body::{EventBody, HttpBody};
use super::call::TouchOnDrop;
use super::head::{BodyHeaders, RequestHead, SessionMark, VersionHeader};
use super::replay::ResumeError;
use super::respond::{HttpRefusal, events, with_status};
use super::stream::parse_event_id;
use crate::Accept;

impl<A: Accept> HttpServer<A> {
    /// Reads the stream of a session that belongs to no request, or resumes any stream.
    pub(super) fn get(
        &self,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        let mark = session(&head.marks)?;
        if !head.accepts.events {
            return Err(HttpRefusal::no_events());
        }
        let session = Arc::clone(&self.find(mark, parts)?.session);
        let (stream, reader) = match head.last_event {
            None => (Arc::clone(&session.standalone), session.standalone.attach(None).map_err(gone)?),
            Some(id) => {
                let (number, last) =
                    parse_event_id(id.as_bytes()).ok_or_else(|| gone(ResumeError::Unknown))?;
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
        Ok(events(HttpBody::events(EventBody::new(stream, reader).holding((TouchOnDrop(session), watch)))))
    }

    /// Ends a session.
    pub(super) fn delete(
        &self,
        parts: &Parts,
        head: &RequestHead<'_>,
    ) -> Result<Response<HttpBody>, HttpRefusal> {
        let live = self.find(session(&head.marks)?, parts)?;
        self.sessions().remove(live.session.id);
        Ok(with_status(StatusCode::NO_CONTENT, HttpBody::default()))
    }
}

/// Returns the session that the request names. Without sessions the server answers POST only.
fn session(marks: &BodyHeaders) -> Result<SessionMark, HttpRefusal> {
    match (&marks.version, marks.session) {
        (VersionHeader::Known(revision), _) if revision.is_stateless() => Err(not_allowed()),
        (_, SessionMark::Absent) => Err(HttpRefusal::invalid("the header Mcp-Session-Id is missing")),
        (VersionHeader::Unknown(_), _) => Err(HttpRefusal::invalid("unsupported MCP-Protocol-Version")),
        (_, session) => Ok(session),
    }
}

pub(super) fn not_allowed() -> HttpRefusal {
    HttpRefusal::because(StatusCode::METHOD_NOT_ALLOWED, "the method is not allowed here")
}

/// Returns the refusal of a stream that cannot be resumed. Its status is 400; 404 would mean that the session is gone.
fn gone(gone: ResumeError) -> HttpRefusal {
    HttpRefusal::invalid(match gone {
        ResumeError::Forgotten => "the events behind Last-Event-ID are no longer kept",
        ResumeError::Unknown => "Last-Event-ID names no event of this session",
    })
}
