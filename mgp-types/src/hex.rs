/// Returns bytes as hexadecimal digits in lower case, as many as there is room for.
///
/// ```
/// assert_eq!(&mgp_types::hex(&[0x0f, 0xa0]), b"0fa0");
/// ```
pub fn hex<const LEN: usize>(bytes: &[u8]) -> [u8; LEN] {
    let mut digits = [0; LEN];
    let (pairs, _) = digits.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(bytes) {
        *pair = [byte >> 4, byte & 0xF].map(|nibble| DIGITS[usize::from(nibble)]);
    }
    digits
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";
