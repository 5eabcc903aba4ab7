//! The quality of a search on one's own tools and questions: [`evaluate`] asks an index all questions and makes a [`Report`]; a
//! [`Comparison`] tells the differences of two reports, and whether they may be chance. The tests of the index use it as well.

pub(crate) mod comparison;
pub(crate) mod quality;
pub(crate) mod report;
pub(crate) mod run;

pub(crate) use self::comparison::Comparison;
pub(crate) use self::quality::Quality;
pub(crate) use self::report::{Latency, QuestionResult, Report, micros_since};
pub(crate) use self::run::{EvalQuestion, evaluate};
