//! Random identifiers.

use std::fmt::Write as _;

/// Returns an identifier that nobody can guess: 128 random bits in hexadecimal digits.
pub(crate) fn id() -> String {
    let mut bytes = [0; 16];
    // Without randomness of the system no safe identifier can be made.
    getrandom::fill(&mut bytes).expect("the system provides random numbers");
    bytes.iter().fold(String::with_capacity(32), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}
