//! Confirmation: an operator's approval of one call with its arguments, valid once.
//!
//! A permission says what a server may do; a confirmation says that it may do so now. A confirmation is bound to the
//! caller, the server, the tool as it is defined, the arguments and a time, and is used up by the call that it was
//! given for, unless an operator gave it for several calls of the tool. It comes from an operator, through the same
//! [`Approver`](crate::permission::Approver) that asks for permissions.
//!
//! | | |
//! |---|---|
//! | [`ConfirmationGate`] | holds calls until they are confirmed |
//! | [`ConfirmationSettings`] | the calls that need confirmation |
//! | [`ConfirmedCalls`] | confirmations of several calls of a tool |
//! | [`EditedCallGate`] | tells callers of calls that an operator edited |
//! | [`FlowGate`] | what agents took in, and the calls that may carry it out |
//! | [`AskGate`] | the operators' rules, which decide before those settings |

mod ask;
mod binding;
#[cfg(feature = "validate")]
mod departure;
#[cfg(feature = "validate")]
mod flow;
mod gate;
mod standing;

pub use self::ask::AskGate;
pub use self::binding::{EditedCall, EditedCallGate};
#[cfg(feature = "validate")]
pub use self::flow::FlowGate;
pub use self::gate::{ConfirmationGate, ConfirmationSettings};
pub use self::standing::{ConfirmedBatch, ConfirmedCalls};

#[cfg(test)]
mod tests;
