//! Names that cannot be guessed.

use mgp_types::Error;

/// Returns a name that cannot be guessed: `prefix` and 128 random bits.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn fresh_name(prefix: &str) -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        Error::internal("the system has no random numbers")
    })?;
    Ok(format!("{prefix}{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_have_all_their_digits() {
        let names = [fresh_name("a-").unwrap(), fresh_name("a-").unwrap()];
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == 34 && name.starts_with("a-")));
    }
}
