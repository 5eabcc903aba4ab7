//! Questions in the middle of a call, from a server to its client (MGP §13.4).
//!
//! A server asks with [`Callbacks`], whatever the client speaks: a client that negotiated callbacks gets
//! `notifications/mgp.callback.request` on the stream of the call and answers with `mgp/callback/respond`, which
//! [`CallbackLayer`] takes; another gets the same question as an elicitation of MCP. The connection is never blocked.
//!
//! A client puts a [`CallbackDesk`] where such questions arrive: in the stack that answers the server, by
//! [`CallbackInboundLayer`]. A gateway passes them on under names of its own, which a [`CallbackRelay`] keeps, or asks
//! in its own name with [`Callback::foreign`].
//!
//! # What people are shown
//!
//! Texts pass here as they came, byte for byte: an option is answered letter by letter, and what a user agreed to has
//! to be what the server asked. So they may hold whatever a server writes, terminal codes and characters that turn the
//! direction of writing among them. **Who shows them makes them harmless**, for only they know what harms where: a
//! terminal is not a page. [`CallbackRequest::shown`](mgp_types::mgp::CallbackRequest::shown) does it for plain text
//! and terminals; a page escapes its markup besides. And they say which server asks: the words are the server's.
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
//! | [`Callback`], [`Confirmation`], [`Reply`], [`Choice`] | what is asked, and what comes of it |
//! | [`Callbacks`], [`CallbackLayer`] | the server's side |
//! | [`CallbackDesk`], [`ServerDesk`], [`CallbackInboundLayer`] | the client's side |
//! | [`CallbackRelay`] | the way through a gateway |

mod answer;
mod ask;
mod desk;
mod elicit;
mod foreign;
mod layer;
mod open;
mod question;
mod relay;
mod wait;

pub use self::answer::{Choice, Confirmation, Reply};
pub use self::ask::Callbacks;
pub use self::desk::{
    CallbackDesk, CallbackHandler, CallbackInbound, CallbackInboundFuture, CallbackInboundLayer, ServerDesk,
};
pub use self::layer::{CallbackLayer, CallbackService, CallbackServiceFuture};
pub use self::question::Callback;
pub use self::relay::{CallbackRelay, Routed};

#[cfg(test)]
mod bench;
#[cfg(test)]
mod tests;
