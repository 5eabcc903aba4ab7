//! Detection of secrets, by the names under which they stand and by their form.
//!
//! [`secrets`] finds rather too much than too little, for records. [`certain_secrets`] finds only what is certain, for
//! people who have to see everything else.

mod names;
mod patterns;

pub use self::names::{is_label, is_labelled, is_secret_name, is_secret_setting};
pub use self::patterns::{certain_secrets, is_card_number, secrets};
