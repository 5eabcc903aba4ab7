//! Questions with the tools that answer them.

use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};

/// A question, and the tools that it needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EvalQuestion {
    /// The id of the question in reports.
    pub(crate) id: String,
    /// The text of the query.
    pub(crate) text: String,
    /// The needs, each by the ids of tools that meet it equally well.
    pub(crate) needs: Vec<Vec<String>>,
}

const MOST: usize = 100_000;
const LONGEST_LINE: usize = 256 * 1024;

impl EvalQuestion {
    /// Creates a question that takes one tool for each of these needs.
    pub(crate) fn new(id: impl Into<String>, text: impl Into<String>, needs: Vec<Vec<String>>) -> Self {
        Self { id: id.into(), text: text.into(), needs }
    }

    /// Reads questions, a JSON object in each line; empty lines are skipped.
    pub(crate) fn read_all(mut from: impl BufRead) -> Result<Vec<Self>, QuestionError> {
        let mut questions = Vec::new();
        let mut bytes = Vec::new();
        for line in 1.. {
            bytes.clear();
            let most = u64::try_from(LONGEST_LINE + 1).unwrap_or(u64::MAX);
            let read = from.by_ref().take(most).read_until(b'\n', &mut bytes);
            if read.map_err(|source| QuestionError::Unreadable { line, source })? == 0 {
                break;
            }
            if bytes.len() > LONGEST_LINE {
                return Err(QuestionError::TooLong { line, most: LONGEST_LINE });
            }
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            if questions.len() == MOST {
                return Err(QuestionError::TooMany { most: MOST });
            }
            questions.push(Self::parse(&bytes, line)?);
        }
        Ok(questions)
    }

    fn parse(bytes: &[u8], line: usize) -> Result<Self, QuestionError> {
        let question: Self =
            serde_json::from_slice(bytes).map_err(|source| QuestionError::Malformed { line, source })?;
        if question.needs.is_empty() || question.needs.iter().any(Vec::is_empty) {
            return Err(QuestionError::NeedsNothing { line });
        }
        Ok(question)
    }
}

/// The reason why questions cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuestionError {
    /// The source of the lines fails.
    #[error("line {line} cannot be read")]
    Unreadable {
        /// The line number.
        line: usize,
        /// The error of the source.
        source: io::Error,
    },
    /// The line is not a question.
    #[error("line {line} is not a question: expected id, text and needs")]
    Malformed {
        /// The line number.
        line: usize,
        /// The error in the line.
        source: serde_json::Error,
    },
    /// No tool answers the question, so that there is nothing to measure.
    #[error("line {line} needs nothing, or has a need that no tool meets")]
    NeedsNothing {
        /// The line number.
        line: usize,
    },
    /// The line is longer than any question.
    #[error("line {line} is longer than {most} bytes")]
    TooLong {
        /// The line number.
        line: usize,
        /// The length of a line at most, in bytes.
        most: usize,
    },
    /// The questions would take too much memory.
    #[error("there are more than {most} questions")]
    TooMany {
        /// The number of questions at most.
        most: usize,
    },
}
