//! JSON-RPC messages as bytes: decoded in one scan, encoded by splicing.

mod decode;
mod encode;
mod spelling;

pub use self::decode::{Frame, Malformed, Message, decode};
pub use self::encode::{write_call, write_error, write_notification, write_notification_about, write_reply};
pub use self::spelling::check_result;
