//! Calls that are taken back together: transactions whose steps are undone by other calls.
//!
//! A transaction is a list of steps. Each step is a call of a tool that has its effect at once and is seen by everybody; the
//! tool says by which call it is taken back. A transaction that is rolled back calls those, the last one first. That is a
//! promise to try and not one of databases: a call that takes a step back can fail, and then the transaction ends as
//! `partially_rolled_back`, which stays until there is no more room for it, and somebody has to look after it.
//!
//! ```text
//! active ─┬─► committed
//!         └─► rolling_back ─┬─► rolled_back
//!                           └─► partially_rolled_back
//! ```
//!
//! * A transaction belongs to whoever began it; for everybody else it does not exist.
//! * One that has no step for its time-out, or is an hour old, is rolled back by [`TransactionBook::run`].
//! * Whichever of commit and rollback comes first decides; the other one is refused.
//! * What happens is on the disk before it happens, if the book is in a [store](crate::store). A rollback that was interrupted
//!   goes on where it stood. Calls that take back have the key `compensate-…` of their step, so that one of which nobody
//!   knows whether it was made is made again without harm.
//! * A step of which nobody knows how it ended is [asked about](Compensator::resolve), and told as not taken back if that
//!   does not help.
//!
//! | type | |
//! |---|---|
//! | [`TransactionBook`] | the transactions, and what is asked of them |
//! | [`OpenStep`], [`StepCall`], [`StepOutcome`] | a step: what it calls, and how it ended |
//! | [`LoggedStep`], [`StepStage`] | a step as the log has it |
//! | [`Compensator`], [`CompensationCall`] | whoever makes the calls that take steps back |

mod book;
mod refusal;
mod rollback;
mod step;
mod transaction_state;

#[cfg(test)]
mod tests;

pub use self::book::TransactionBook;
pub use self::step::{
    CompensationCall, Compensator, InterruptedStep, LoggedStep, OpenStep, StepCall, StepOutcome, StepStage,
};
