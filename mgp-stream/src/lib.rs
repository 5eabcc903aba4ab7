//! Messages beside calls and answers: streamed results (MGP §12), events (§13.2, §13.3) and callbacks (§13.4).
//!
//! Each part is a layer at the server and its counterpart at the client. A peer that did not negotiate a part sees
//! plain MCP, and a call that uses none of them pays for none.
//!
//! ```
//! use mgp_stream::call::{StreamPart, StreamLayer, StreamReader};
//! use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
//! use mgp_types::{Error, Method, Object, Request, Response, Revision, Session};
//! use tower_layer::Layer;
//! # use std::{future::poll_fn, pin::Pin, sync::Arc, task::{Context, Poll}};
//! # use futures_core::Stream as _;
//! # #[derive(Clone)]
//! # struct Think;
//! # impl tower_service::Service<Request> for Think {
//! #     type Response = Response;
//! #     type Error = Error;
//! #     type Future = mgp_types::BoxFuture<'static, Result<Response, Error>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> { Poll::Ready(Ok(())) }
//! #     fn call(&mut self, request: Request) -> Self::Future { Box::pin(think(request)) }
//! # }
//!
//! /// A tool: it sends parts of its result on the way back of its call, and leaves the whole to the layer.
//! async fn think(request: Request) -> Result<Response, Error> {
//!     for part in ["Quantum computing is", " a paradigm"] {
//!         let content = serde_json::json!({ "content": { "type": "text", "text": part } });
//!         let chunk = Object::from_value(&content).map_err(|error| Error::internal(error.to_string()))?;
//!         request.context.outbox.notify(Request::notify(Method::STREAM_CHUNK, chunk)).await?;
//!     }
//!     Ok(Response::empty())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! // Both sides in one process: what is between them is somebody else's.
//! let server = StreamLayer::new().layer(Think);
//! let offer = Offer::new(ExtensionSet::from_names(["streaming"]));
//! let mut session = Session::new(Revision::LATEST);
//! session.mgp = Negotiated::agree(&offer, &offer);
//! let mut call = Request::call(Method::TOOLS_CALL, Object::new());
//! call.context.session = Some(Arc::new(session));
//!
//! let (mut reader, mut text) = (StreamReader::open(server, call), String::new());
//! while let Some(part) = poll_fn(|cx| Pin::new(&mut reader).poll_next(cx)).await {
//!     if let StreamPart::Chunk(chunk) = part {
//!         text.push_str(chunk.content.as_text().unwrap_or_default());
//!     }
//! }
//! assert_eq!(text, "Quantum computing is a paradigm");
//! let answer: serde_json::Value = reader.finish().await?.body()?;
//! assert_eq!(answer["content"][0]["text"], text);
//! assert_eq!(answer["_mgp"]["chunks_sent"], 2);
//! # Ok(())
//! # }
//! ```
//!
//! | module | section | at the server | at the client |
//! |---|---|---|---|
//! | [`call`] | §12: streamed results, progress, cancellation; pace and gaps of later drafts | [`StreamLayer`](call::StreamLayer) | [`StreamReader`](call::StreamReader) |
//! | [`event`] | §13.2, §13.3, §13.5: subscriptions and pushed events; replay of later drafts | [`Publisher`](event::Publisher), [`EventsGate`](event::EventsGate) | [`Subscriber`](event::Subscriber) |
//! | [`callback`] | §13.4: questions in the middle of calls; MCP's elicitation for other clients | [`Callbacks`](callback::Callbacks), [`CallbackLayer`](callback::CallbackLayer) | [`CallbackResponder`](callback::CallbackResponder) |
//!
//! Subscriptions are also served in the words of the extension `subscribe_notify`, with filters by payload, a time to
//! live, and ids that clients choose.

pub mod call;
pub mod callback;
pub mod event;
mod session;

#[cfg(test)]
mod doubles;
#[cfg(test)]
mod seeded_random;
