//! `mgp check`: runs a validator on rows from standard input, without a kernel.

use std::io;

use mgp_security::check::{CheckError, InputCheck};

use crate::terminal::{Exit, Failure, with_causes};

/// Judges rows `{"id","input"}` from standard input, one per line, and prints the verdicts. It needs no kernel.
pub(super) fn run(kind: InputCheck) -> Result<Exit, Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match kind.judge_rows(io::stdin().lock(), &mut out) {
        Ok(_) => Ok(Exit::Done),
        // A reader that closes the pipe has read what it wants.
        Err(CheckError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::usage(with_causes(&error.to_string(), &error))),
    }
}
