//! What flows beside calls and answers: streamed results (MGP §12), events and callbacks (§13).

pub mod call;
pub mod callback;
pub mod event;
