//! The bounds of arguments.

use mgp_server_sdk::ToolError;

/// Checks the length of an argument in bytes.
pub(super) fn check_length(name: &str, text: &str, most: usize) -> Result<(), ToolError> {
    if text.len() > most {
        return Err(ToolError::new(format!(
            "`{name}` has {} bytes, {most} at most: send it in parts",
            text.len()
        )));
    }
    Ok(())
}

/// The most bytes of a text to work on.
pub(super) const LONGEST_TEXT: usize = 1 << 20;
