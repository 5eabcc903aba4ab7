//! The quality of a search on one's own tools and questions, so that settings can be compared before they are changed.
//!
//! ```
//! use std::io::Cursor;
//!
//! use mgp_toolindex::eval::EvalQuestion;
//!
//! let lines = r#"{"id":"q1","text":"mail this file to Ann","needs":[["fs.read","disk.read"],["mail.send"]]}"#;
//! let questions = EvalQuestion::read_all(Cursor::new(lines))?;
//! assert_eq!(questions[0].needs.len(), 2);
//! # Ok::<(), mgp_toolindex::eval::QuestionError>(())
//! ```
//!
//! [`evaluate`] asks an index all questions and makes a [`Report`]; a [`Comparison`] tells the differences of two
//! reports, and which of them may be chance.

mod chance;
mod comparison;
mod corpus;
mod quality;
mod question;
mod report;
mod run;

pub use self::comparison::{Comparison, MeasureChange, Verdict};
pub use self::corpus::{Corpus, QueryRow, RowError, ToolRow};
pub use self::quality::{Measure, Quality};
pub use self::question::{EvalQuestion, QuestionError};
pub use self::report::{Latency, QuestionResult, Report};
pub use self::run::{Settings, evaluate};
