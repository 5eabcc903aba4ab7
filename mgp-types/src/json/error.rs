use thiserror::Error;

/// Why bytes were refused as JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{fault} at byte {offset}")]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub fault: JsonFault,
    /// The offset in bytes where it was noticed.
    pub offset: usize,
}

/// What is wrong with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JsonFault {
    /// The bytes end inside a value.
    #[error("unexpected end of JSON")]
    UnexpectedEnd,
    /// A byte that JSON does not allow here.
    #[error("invalid JSON")]
    Syntax,
    /// The bytes are not UTF-8, or an escape names half a character.
    #[error("invalid unicode")]
    Unicode,
    /// More than 4 GiB.
    #[error("JSON too long")]
    TooLong,
    /// More nested arrays and objects than [`Limits`](super::Limits) allows.
    #[error("JSON nested too deeply")]
    TooDeep,
    /// An object names the same member twice, which two readers may read differently.
    #[error("duplicate object member")]
    DuplicateMember,
}
