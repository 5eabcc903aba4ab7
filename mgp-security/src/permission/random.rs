/// Bytes that nobody can guess.
///
/// # Panics
/// The operating system gives no random bytes; nothing secure can be done then.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// A name that nobody can guess: 32 hexadecimal digits.
pub(crate) fn name() -> String {
    use std::fmt::Write as _;
    bytes::<16>().iter().fold(String::with_capacity(32), |mut name, byte| {
        // Writing into a string does not fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}
