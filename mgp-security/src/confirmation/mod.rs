//! Confirmation: a human's yes to one call, with these arguments, once.
//!
//! A permission says what a server may do; a confirmation says that it may do so now. The yes is bound to the caller,
//! the server, the tool as it is defined, the arguments and a time, and is used up by the call it was given for. It
//! comes from an operator: while the call waits, through the same [`Approver`](crate::permission::Approver) that asks
//! for permissions, or ahead, as one of the [`ConfirmationTickets`].
//!
//! | | |
//! |---|---|
//! | [`ConfirmationGate`] | has calls confirmed |
//! | [`ConfirmationSettings`] | which |
//! | [`ConfirmationTickets`] | confirmations given ahead |

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
