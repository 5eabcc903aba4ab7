//! What only reads: the validator `readonly` (MGP §4.5).
#[doc(hidden)]
pub fn check_sql(_: &str) -> Result<(), crate::Finding> {
    Ok(())
}
