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
    Refuse(Data),
    /// Something under the id of the request that is no answer.
    Wrong(Shape),
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

/// The data of an error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Data {
    None,
    Text,
    List,
    /// Advice whose members have the wrong types.
    OddRecovery,
    NullRecovery,
    NegativeRetry,
}

/// The shapes of a wrong answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shape {
    ResultAndError,
    ErrorIsText,
    CodeIsText,
    /// The result is not what the method returns.
    ResultIsList,
    ResultIsNull,
    /// Not JSON-RPC: such a message is nobody's answer.
    OldVersion,
    Neither,
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
const DATA: &[Data] =
    &[Data::None, Data::Text, Data::List, Data::OddRecovery, Data::NullRecovery, Data::NegativeRetry];
const SHAPES: &[Shape] = &[
    Shape::ResultAndError,
    Shape::ErrorIsText,
    Shape::CodeIsText,
    Shape::ResultIsList,
    Shape::ResultIsNull,
    Shape::OldVersion,
    Shape::Neither,
];
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
