//! Questions to the peer of a session.

use mgp_types::{Error, Id, Method, Object, RawJson, Request, Response, code, frame};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::session::HttpSession;
use super::stream::ResponseStream;

impl HttpSession {
    /// Sends a request on `stream` and waits for its answer, which comes by a POST of its own.
    ///
    /// # Cancel safety
    /// Dropping the future takes the request back.
    pub(super) async fn ask(&self, stream: &ResponseStream, request: Request) -> Result<Response, Error> {
        let (id, answer) = self.open_question()?;
        let _question = PendingQuestion { session: self, stream, id };
        let mut json = Vec::new();
        frame::write_call(&mut json, &Id::Number(id), &request.method, &request.params);
        stream.push(&json).await?;
        match timeout(self.config().peer_timeout, answer).await {
            Ok(Ok(outcome)) => {
                let result = outcome?;
                frame::check_result(&request.method, &result)?;
                Ok(Response::new(result))
            }
            Ok(Err(_)) => Err(Error::disconnected("the session has ended")),
            Err(_) => Err(Error::timeout("the client did not answer")),
        }
    }

    fn open_question(&self) -> Result<(i64, oneshot::Receiver<Result<RawJson, Error>>), Error> {
        let mut questions = self.questions.lock();
        if self.is_closed() {
            return Err(Error::disconnected("the session has ended"));
        }
        if questions.open.len() >= self.config().limits.max_in_flight {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many questions are open"));
        }
        questions.last += 1;
        let id = questions.last;
        let (asker, answer) = oneshot::channel();
        questions.open.insert(id, asker);
        Ok((id, answer))
    }
}

/// A question to the peer. Dropping it takes the question back.
struct PendingQuestion<'a> {
    session: &'a HttpSession,
    stream: &'a ResponseStream,
    id: i64,
}

impl Drop for PendingQuestion<'_> {
    fn drop(&mut self) {
        let open = self.session.questions.lock().open.remove(&self.id).is_some();
        if !open || !self.stream.is_used() {
            return;
        }
        let mut params = Object::new();
        params.set("requestId", Id::Number(self.id).to_raw());
        let mut json = Vec::new();
        frame::write_notification(&mut json, &Method::CANCELLED, &params);
        self.stream.force(&json);
    }
}
