use std::fmt::Write as _;

/// An identifier that nobody can guess: 128 random bits in hexadecimal digits.
pub(crate) fn id() -> String {
    let mut bytes = [0; 16];
    // Where the system has no randomness left there is nothing safe to go on with.
    getrandom::fill(&mut bytes).expect("the system provides random numbers");
    bytes.iter().fold(String::with_capacity(32), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}
