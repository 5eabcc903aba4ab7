//! Questions in the middle of a call, from a server to its client (MGP §13.4).
//!
//! A server asks with [`Callbacks`], whatever the client speaks: a client that negotiated callbacks gets
//! `notifications/mgp.callback.request` on the stream of the call and answers with `mgp/callback/respond`, which
//! [`CallbackLayer`] takes; another gets the same question as an elicitation of MCP. The connection is never blocked.
//!
//! A client puts a [`CallbackResponder`] where such questions arrive: in the stack that answers the server, by
//! [`CallbackInboundLayer`]. A gateway passes questions on under ids of its own, which a [`CallbackRelay`] keeps.
//!
//! # What people are shown
//! Texts pass here unchanged, byte for byte: an option is answered letter by letter, and a user must agree to exactly
//! the server's words. So texts may hold anything a server writes, terminal codes and characters that turn the
//! direction of writing among them. **The code that shows a text makes it harmless**, because only that code knows what
//! harms where: a terminal is not a page. [`CallbackRequest::shown`](mgp_types::mgp::CallbackRequest::shown) does it
//! for plain text and terminals; a page escapes its markup besides. Texts should be shown with the name of the server
//! that asks, because the words are the server's.
//!
//! ```
//! use mgp_stream::callback::{Callback, Callbacks, Confirmation};
//! use mgp_types::{Context, Error};
//!
//! async fn delete(callbacks: &Callbacks, context: &Context) -> Result<&'static str, Error> {
//!     let question = Callback::confirmation("This operation will delete 15 files. Continue?");
//!     match callbacks.ask(context, "delete", question).await? {
//!         Confirmation::Confirmed => Ok("deleted"),
//!         _ => Ok("nothing was done"),
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! // A request that belongs to no session has nobody to be asked.
//! assert!(delete(&Callbacks::new(), &Context::default()).await.is_err());
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`Callback`], [`Confirmation`], [`SelectedOption`] | a question, and its outcome |
//! | [`Callbacks`], [`CallbackLayer`] | the server's side |
//! | [`CallbackResponder`], [`ServerResponder`], [`CallbackInboundLayer`] | the client's side |
//! | [`CallbackRelay`] | the way through a gateway |

mod ask;
mod open;
mod question;
mod responder;

pub use self::ask::{CallbackLayer, CallbackRelay, CallbackService, Callbacks, RoutedAnswer};
pub use self::question::{Callback, Confirmation, SelectedOption};
pub use self::responder::{
    CallbackHandler, CallbackInbound, CallbackInboundLayer, CallbackResponder, ServerResponder,
};

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
