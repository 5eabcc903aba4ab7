//! What flows beside calls and answers: streamed results (MGP §12), events and callbacks (§13).

mod advice;
pub mod call;
pub mod callback;
pub mod event;
mod fresh;
mod negotiated;
mod owner;
mod task;

#[cfg(test)]
mod doubles;
#[cfg(test)]
mod seeds;
