//! Cursors: opaque texts for clients, and the number of a page's first entry for the server.

/// Returns the cursor of a page that starts with the entry of this number.
pub(super) fn write(number: u64) -> String {
    format!("c{number:x}")
}

/// Returns the number behind a cursor; `None` if this server did not write the cursor.
pub(super) fn read(cursor: &str) -> Option<u64> {
    let digits = cursor.strip_prefix('c')?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    // Each number has one spelling; the server never wrote any other.
    (number > 0 && write(number) == cursor).then_some(number)
}
