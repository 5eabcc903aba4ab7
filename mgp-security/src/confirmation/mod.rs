//! Confirmation: an operator's approval of one call with its arguments, valid once.
//!
//! A permission says what a server may do; a confirmation says that it may do so now. A confirmation is bound to the
//! caller, the server, the tool as it is defined, the arguments and a time, and is used up by the call that it was
//! given for, unless an operator gave it for several calls of the tool. It comes from an operator: either while the call waits, through the same
//! [`Approver`](crate::permission::Approver) that asks for permissions, or in advance, as one of the
//! [`ConfirmationTickets`].
//!
//! | | |
//! |---|---|
//! | [`ConfirmationGate`] | holds calls until they are confirmed |
//! | [`ConfirmationSettings`] | the calls that need confirmation |
//! | [`ConfirmationTickets`] | confirmations given in advance |

mod batches;
mod binding;
mod gate;
mod rounds;
mod settings;
mod tickets;

use self::binding::ConfirmationBinding;
pub use self::gate::ConfirmationGate;
pub use self::settings::ConfirmationSettings;
pub use self::tickets::{ConfirmationTickets, TicketId};

#[cfg(test)]
mod tests;
