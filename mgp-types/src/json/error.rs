use thiserror::Error;

/// The fault for which bytes were refused as JSON, and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{fault} at byte {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// The kind of fault.
    pub fault: JsonFault,
    /// The offset in bytes at which the scanner noticed the fault.
    pub offset: usize,
}

/// The kinds of fault for which bytes are refused as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The bytes end inside a value.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// The bytes have a character where JSON does not allow it.
    #[error("invalid JSON")]
    Syntax,
    /// The bytes are not UTF-8, or an escape names half a character.
    #[error("invalid unicode")]
    Unicode,
    /// The bytes are longer than 4 GiB.
    #[error("JSON too long")]
    TooLong,
    /// The value nests more arrays and objects than [`Limits`](super::Limits) allows.
    #[error("JSON nested too deeply")]
    TooDeep,
    /// An object names the same member twice; two readers may take different values.
    #[error("duplicate object member")]
    DuplicateMember,
}
