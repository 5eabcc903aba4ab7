//! One table of what each code is called in the other forms of an error.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::envelope::ErrorType;
use super::structured_error::ErrorClass;
use crate::mgp::code;

/// The forms of an error code beside the number of MGP.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorProjection {
    /// The word of a structured error.
    pub word: &'static str,
    /// The class of a structured error.
    pub class: ErrorClass,
    /// The kind of an error in an envelope.
    pub envelope: ErrorType,
    /// The number of the tool registry.
    pub registry: i64,
    /// The kind of an error of the tool registry.
    pub registry_kind: &'static str,
}

/// The table: a row for each code.
pub(super) const PROJECTIONS: &str = include_str!("projections.txt");

/// Returns the forms of `code`. Every number has some: one without a row of its own has those of its range.
pub fn projection(code: i64) -> ErrorProjection {
    static ROWS: LazyLock<HashMap<&str, ErrorProjection>> = LazyLock::new(|| {
        PROJECTIONS.lines().filter(|line| !line.starts_with('#')).filter_map(ErrorProjection::row).collect()
    });
    let of_category = || ROWS.get(code::category(code)?.as_str());
    ROWS.get(&*code.to_string()).or_else(of_category).unwrap_or_else(|| &ROWS["other"]).clone()
}

impl ErrorProjection {
    fn row(line: &'static str) -> Option<(&'static str, Self)> {
        let [code, word, class, envelope, registry, registry_kind] = *line.split(' ').collect::<Vec<_>>()
        else {
            return None;
        };
        let (class, envelope) = (ErrorClass::read(class), ErrorType::read(envelope));
        Some((code, Self { word, class, envelope, registry: registry.parse().ok()?, registry_kind }))
    }
}
