//! The quality of a search on one's own tools and questions, so that settings can be compared before they are changed.
//!
//! [`evaluate`] asks an index all questions and makes a [`Report`]; a [`Comparison`] tells the differences of two
//! reports, and which of them may be chance.
#![allow(dead_code, unused_imports, reason = "the example and each test need a part of it")]

mod chance;
mod comparison;
mod quality;
mod question;
mod report;
mod run;

pub(crate) use self::comparison::Comparison;
pub(crate) use self::quality::{Measure, Quality};
pub(crate) use self::question::EvalQuestion;
pub(crate) use self::report::{Latency, QuestionResult, Report};
pub(crate) use self::run::{Settings, evaluate};
