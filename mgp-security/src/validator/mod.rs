//! Validators (MGP §4.5): what the arguments of a call may say.

pub mod network;
pub mod path;
pub mod readonly;
pub mod sandbox;
pub mod text;
