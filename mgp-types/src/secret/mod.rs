//! Detection of secrets, by the names under which they stand and by their form.
//!
//! Who records a call rather hides too much than too little ([`secrets`]). Who shows one to a person hides only what
//! is certain ([`certain_secrets`]).

mod names;
mod patterns;

pub use self::names::{is_label, is_labelled, is_secret_name, is_secret_setting};
pub use self::patterns::{certain_secrets, is_card_number, secrets};
