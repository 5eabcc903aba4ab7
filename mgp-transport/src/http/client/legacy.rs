//! The client of HTTP+SSE, the transport of revision 2024-11-05.

use std::sync::Arc;

use bytes::Bytes;
use http::Uri;
use mgp_types::{Error, RpcService};

use super::core::ClientCore;
use super::events::AnswerEvents;
use super::head::HeaderEra;
use super::inbound::StreamReceiver;
use super::origin::{resolve, same_origin};
use crate::deliveries::PeerOutcome;

impl<I: RpcService> ClientCore<I> {
    /// Opens the one stream of HTTP+SSE, which brings every message of the server, and takes the address of messages from
    /// its first event. The stream is the session: when it ends, every waiting call fails, and so does every later one.
    pub(super) async fn open_sse(mut self) -> Result<Arc<Self>, Error> {
        let mut events = AnswerEvents::new(self.open_stream(&HeaderEra::Sse, None).await?, &self.limits);
        let endpoint = loop {
            match events.next().await? {
                Some(event) if &event.name[..] == b"endpoint" => break event.data,
                Some(_) => {}
                None => return Err(Error::disconnected("the stream ended before its `endpoint` event")),
            }
        };
        self.endpoint = resolve_endpoint(&self.url, &endpoint)?;
        self.is_sse = true;
        let core = Arc::new(self);
        let reader = Arc::clone(&core);
        core.tasks.spawn(async move { reader.read_sse(events).await });
        Ok(core)
    }

    async fn read_sse(self: Arc<Self>, mut events: AnswerEvents) {
        // The layer above knows the session and puts it into each message. A slow notification does not delay the answers
        // behind it.
        let mut receiver = StreamReceiver::new(&self, None, true);
        loop {
            match events.next().await {
                Ok(Some(event)) => self.hand_out(&event, &mut receiver).await,
                Ok(None) => break tracing::debug!("the server ended the stream"),
                Err(error) => break tracing::warn!(%error, "the stream broke"),
            }
        }
        self.replies.end();
    }

    /// Sends a request and waits for its answer on the stream.
    pub(super) async fn ask_sse(&self, id: i64, message: Bytes) -> Result<PeerOutcome, Error> {
        let mut waiting = self.replies.wait(id)?;
        let answer = waiting.answer();
        tokio::pin!(answer);
        // Some servers answer on the stream before they answer the POST.
        tokio::select! {
            biased;
            outcome = &mut answer => Ok(outcome),
            delivered = self.deliver(message, || Ok(self.post_headers.clone()), false) => {
                delivered?;
                Ok(answer.await)
            }
        }
    }
}

const MAX_ENDPOINT_BYTES: usize = 8 << 10;

fn resolve_endpoint(url: &Uri, endpoint: &[u8]) -> Result<Uri, Error> {
    let resolved = Some(endpoint)
        .filter(|endpoint| endpoint.len() <= MAX_ENDPOINT_BYTES)
        .and_then(|endpoint| std::str::from_utf8(endpoint).ok())
        .and_then(|endpoint| resolve(url, endpoint.trim()))
        .ok_or_else(|| Error::misbehaved("the server's endpoint is not a URL of HTTP"))?;
    if !same_origin(url, &resolved) {
        return Err(Error::misbehaved("the server's endpoint is of another origin"));
    }
    Ok(resolved)
}
