//! Base64, as images, sounds and blobs hold it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns `bytes` in base64 with padding, as images, sounds and blobs hold them.
///
/// ```
/// assert_eq!(mgp_server_sdk::base64(b"hello"), "aGVsbG8=");
/// ```
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}
