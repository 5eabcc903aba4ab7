//! The quality of a search on one's own tools and questions: [`evaluate`] asks an index all questions and makes a [`Report`]; a
//! [`Comparison`] tells the differences of two reports, and which of them may be chance. The tests of the index use it as well.

pub(crate) mod chance;
pub(crate) mod comparison;
pub(crate) mod quality;
pub(crate) mod question;
pub(crate) mod report;
pub(crate) mod run;

pub(crate) use self::comparison::Comparison;
pub(crate) use self::quality::{Measure, Quality};
pub(crate) use self::question::EvalQuestion;
pub(crate) use self::report::{Latency, QuestionResult, Report};
pub(crate) use self::run::{Settings, evaluate};
