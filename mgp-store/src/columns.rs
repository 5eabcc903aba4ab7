//! Reading of columns.

use mgp_types::mgp::Timestamp;
use rusqlite::Row;

use crate::StoreError;

/// Returns the text in a column.
pub fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, StoreError> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Returns the time in a column.
pub fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, StoreError> {
    moment(row.get(column)?)
}

/// Returns the time in a column, where there is one.
pub fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>, StoreError> {
    row.get::<_, Option<i64>>(column)?.map(moment).transpose()
}

fn moment(millis: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millis(millis).ok_or_else(|| StoreError::Damaged("a time is out of range".to_owned()))
}
