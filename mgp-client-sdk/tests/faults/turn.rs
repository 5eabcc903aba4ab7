//! The treatment of one request by the scripted server.

use std::time::Duration;

use crate::rng::Rng;

/// The treatment of one request by the scripted server: a pause, then an act.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) after: Duration,
    pub(crate) act: Act,
}

/// A treatment of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Act {
    Answer,
    /// No answer, ever.
    Hang,
    /// The answer in pieces of so many bytes, a millisecond apart.
    Pieces(usize),
    /// The answer twice.
    Twice,
    /// The answer under the id in the form of a string, which is nobody's answer.
    UnderText,
    /// The answer alone in a batch, which this revision does not have, and then as it should be.
    Batched,
    /// Something else first, then the answer.
    After(Noise),
    /// An error, whose data are not what one expects.
    Refuse(Option<&'static str>),
    /// Something under the id of the request that is no answer.
    Wrong(&'static str),
    /// The stream breaks.
    Break(Break),
}

/// Unasked messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Noise {
    /// An answer to a request that was never sent.
    UnknownId,
    /// An answer, and an error, under the id null.
    NullId,
    /// The answer to another request that waits, before its turn.
    OtherCall,
    /// An answer to the last notification, as if it were a request.
    ToNotification,
    /// So many times: the list of tools has changed, or that of prompts.
    Storm(usize),
    /// Notifications that nobody knows, or with odd params.
    Notifications,
    /// Progress of a call that never asked for it, and without a token.
    Progress,
    /// A request of the server's own.
    Ask(&'static str),
    /// Parts of a result that nobody asked for.
    Chunks(ChunkFault),
    /// Bytes that are no message.
    Garbage(Garbage),
}

/// The faults of the chunks of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ChunkFault {
    Gap,
    Twice,
    Backwards,
    NoIndex,
    TextIndex,
    UnknownCall,
    NoCall,
    AfterEnd,
}

/// Bytes that are no message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Garbage {
    NotJson,
    NotText,
    Nul,
    Blank,
    /// A line that is longer than allowed.
    TooLong,
    Deep,
    Empty,
}

/// The ways in which a stream breaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Break {
    CrashBefore,
    /// In the middle of the answer.
    CrashWithin,
    CrashAfter,
    /// The whole process, with all its connections.
    ProcessDies,
    /// The server sends nothing more, but reads.
    CloseWrites,
    /// The answer without its line end, and then nothing more.
    LastLine,
    /// The server reads nothing more, but answers.
    CloseReads,
    Reset,
    /// A line that does not end.
    Endless,
}

impl Act {
    pub(crate) fn orderly(rng: &mut Rng) -> Self {
        match rng.within(0..16) {
            0..4 => Self::Answer,
            4 => Self::Hang,
            5 => Self::Pieces(rng.pick(&[1, 7, 30])),
            6 => Self::Twice,
            7 => Self::UnderText,
            8 => Self::Batched,
            9 => Self::Refuse(rng.pick(DATA)),
            10 => Self::Wrong(rng.pick(SHAPES)),
            11 => Self::After(Noise::Storm(rng.pick(&[1, 20, 300]))),
            12 => Self::After(Noise::Ask(rng.pick(&["ping", "roots/list", "acme/unknown", SLOW_REQUEST]))),
            13 => Self::After(Noise::Chunks(rng.pick(CHUNK_FAULTS))),
            _ => Self::After(rng.pick(NOISES)),
        }
    }

    pub(crate) fn garbled(rng: &mut Rng) -> Self {
        match rng.within(0..4) {
            0 => Self::Wrong(rng.pick(SHAPES)),
            1 => Self::orderly(rng),
            _ => Self::After(Noise::Garbage(rng.pick(GARBAGE))),
        }
    }

    pub(crate) fn breaking(rng: &mut Rng) -> Self {
        if rng.chance(25) { Self::Break(rng.pick(BREAKS)) } else { Self::orderly(rng) }
    }

    pub(crate) fn any(rng: &mut Rng) -> Self {
        match rng.within(0..10) {
            0 => Self::Break(rng.pick(BREAKS)),
            1..4 => Self::garbled(rng),
            _ => Self::orderly(rng),
        }
    }
}

/// A request of the server's that clients take a while to answer.
pub(crate) const SLOW_REQUEST: &str = "acme/slow";
const NOISES: &[Noise] = &[
    Noise::UnknownId,
    Noise::NullId,
    Noise::OtherCall,
    Noise::ToNotification,
    Noise::Notifications,
    Noise::Progress,
];
const CHUNK_FAULTS: &[ChunkFault] = &[
    ChunkFault::Gap,
    ChunkFault::Twice,
    ChunkFault::Backwards,
    ChunkFault::NoIndex,
    ChunkFault::TextIndex,
    ChunkFault::UnknownCall,
    ChunkFault::NoCall,
    ChunkFault::AfterEnd,
];
pub(crate) const GARBAGE: &[Garbage] = &[
    Garbage::NotJson,
    Garbage::NotText,
    Garbage::Nul,
    Garbage::Blank,
    Garbage::TooLong,
    Garbage::Deep,
    Garbage::Empty,
];
/// The data of errors, in JSON.
const DATA: &[Option<&str>] = &[
    None,
    Some(r#""a text""#),
    Some("[1, [2, [3]]]"),
    // Advice whose members have the wrong types.
    Some(
        r#"{"_mgp": {"category": 7, "retryable": "yes", "retry_after_ms": {"a": 1}, "retry_strategy": [],
            "fallback_tool": 3, "max_retries": -1}}"#,
    ),
    Some(r#"{"_mgp": null}"#),
    Some(
        r#"{"_mgp": {"category": "security", "retryable": true, "retry_after_ms": -9e99,
            "retry_strategy": "none"}}"#,
    ),
];

/// Wrong answers, without their ids.
const SHAPES: &[&str] = &[
    r#"{"jsonrpc": "2.0", "result": {}, "error": {"code": 1, "message": "both"}}"#,
    r#"{"jsonrpc": "2.0", "error": "boom"}"#,
    r#"{"jsonrpc": "2.0", "error": {"code": "1", "message": "x"}}"#,
    // The result is not what the method returns.
    r#"{"jsonrpc": "2.0", "result": [1, 2]}"#,
    r#"{"jsonrpc": "2.0", "result": null}"#,
    r#"{"jsonrpc": "1.0", "result": {}}"#,
    NEITHER,
];
/// Not JSON-RPC: such a message is nobody's answer.
pub(crate) const NEITHER: &str = r#"{"jsonrpc": "2.0"}"#;
const BREAKS: &[Break] = &[
    Break::CrashBefore,
    Break::CrashWithin,
    Break::CrashAfter,
    Break::ProcessDies,
    Break::CloseWrites,
    Break::LastLine,
    Break::CloseReads,
    Break::Reset,
    Break::Endless,
];
