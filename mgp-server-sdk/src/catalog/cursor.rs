//! Cursors: opaque to clients, the number of the entry that a page starts with to us.

/// The cursor of a page that starts with the entry of this number.
pub(super) fn write(number: u64) -> String {
    format!("c{number:x}")
}

/// The number behind a cursor, `None` if it is not one of ours.
pub(super) fn read(cursor: &str) -> Option<u64> {
    let digits = cursor.strip_prefix('c')?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    // One number has one spelling; others were never given out.
    (number > 0 && write(number) == cursor).then_some(number)
}
