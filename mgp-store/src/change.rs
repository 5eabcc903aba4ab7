//! A change: the statements that are carried out together.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql, Transaction, params_from_iter};
use serde::{Deserialize, Serialize};

use crate::{Result, StoreError};

/// A change in the making: all of its statements are carried out or, if one fails, none.
#[derive(Debug)]
pub struct Change<'a> {
    transaction: &'a Transaction<'a>,
    /// The statements so far, where other kernels have to carry them out as well.
    statements: Option<Vec<Statement>>,
}

/// A statement with its values.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Statement {
    sql: String,
    values: Vec<StoredValue>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum StoredValue {
    Null(()),
    Integer(i64),
    Real(f64),
    Text(String),
    Blob { base64: String },
}

impl<'a> Change<'a> {
    pub(crate) const fn new(transaction: &'a Transaction<'a>, statements: Option<Vec<Statement>>) -> Self {
        Self { transaction, statements }
    }

    /// Carries out a statement, and returns how many rows it changed. Other kernels carry it out on the same rows, so it
    /// may depend on nothing but its values and the tables of its section.
    ///
    /// # Errors
    /// Fails if SQLite refuses.
    pub fn execute(&mut self, sql: &str, values: &[&dyn ToSql]) -> Result<usize> {
        let rows = self.transaction.prepare_cached(sql)?.execute(values)?;
        if let Some(statements) = &mut self.statements {
            let values =
                values.iter().map(|value| StoredValue::of(&value.to_sql()?)).collect::<Result<_, _>>()?;
            statements.push(Statement { sql: sql.to_owned(), values });
        }
        Ok(rows)
    }

    /// Returns the connection, for reading.
    pub fn reading(&self) -> &Connection {
        self.transaction
    }

    pub(crate) fn into_statements(self) -> Vec<Statement> {
        self.statements.unwrap_or_default()
    }
}

impl Statement {
    /// Carries out a statement of another kernel.
    pub(crate) fn repeat(self, transaction: &Transaction<'_>) -> Result<()> {
        let values = self.values.into_iter().map(StoredValue::restored).collect::<Result<Vec<_>, _>>()?;
        transaction.prepare_cached(&self.sql)?.execute(params_from_iter(values))?;
        Ok(())
    }
}

impl StoredValue {
    fn of(value: &ToSqlOutput<'_>) -> Result<Self> {
        let value = match value {
            ToSqlOutput::Borrowed(value) => *value,
            ToSqlOutput::Owned(value) => value.into(),
            _ => return Err(damaged("a value of a kind that is not known")),
        };
        Ok(match value {
            ValueRef::Null => Self::Null(()),
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Real(value) => Self::Real(value),
            ValueRef::Text(_) => Self::Text(value.as_str().map_err(rusqlite::Error::from)?.to_owned()),
            ValueRef::Blob(bytes) => Self::Blob { base64: STANDARD_NO_PAD.encode(bytes) },
        })
    }

    fn restored(self) -> Result<Value> {
        Ok(match self {
            Self::Null(()) => Value::Null,
            Self::Integer(value) => Value::Integer(value),
            Self::Real(value) => Value::Real(value),
            Self::Text(value) => Value::Text(value),
            Self::Blob { base64 } => {
                Value::Blob(STANDARD_NO_PAD.decode(base64).map_err(|_| damaged("bytes that are no base64"))?)
            }
        })
    }
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a shared change has {what}"))
}
