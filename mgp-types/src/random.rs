//! Random bytes of the operating system, for everything that nobody may guess.

/// Returns random bytes that nobody can guess.
///
/// # Panics
/// The system gives no random bytes: a call that ends is better than a secret that can be guessed.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

/// Returns an id of `N` random letters and digits, to be typed by people: none is taken for another one, and they form no
/// words.
///
/// # Panics
/// The system gives no random bytes.
pub fn random_letters<const N: usize>() -> String {
    let letters = random_bytes::<N>().map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
    letters.iter().map(|letter| char::from(*letter)).collect()
}

const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxyz23456789";

/// Returns a name that nobody can guess: 128 random bits in 32 hexadecimal digits.
///
/// # Panics
/// The system gives no random bytes.
pub fn random_name() -> String {
    format!("{:032x}", u128::from_ne_bytes(random_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_all_its_digits_and_differs_each_time() {
        let (one, other) = (random_name(), random_name());
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()) && one != other);
    }
}
