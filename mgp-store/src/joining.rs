//! How a database begins to follow an order, and how it stops.

use mgp_types::random_bytes;

use crate::order::Position;
use crate::{Database, Result, StoreError, shared};

impl Database {
    /// Returns whether the database was used without an order, so that other kernels do not know what it holds.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn is_apart(&self) -> Result<bool> {
        let connection = self.connection();
        Ok(connection.table_exists(None, "mgp_schema")? && !connection.table_exists(None, "mgp_order")?)
    }

    /// Forgets the place in the order that the database followed: what is changed from here on, no other kernel knows.
    ///
    /// # Errors
    /// Fails if the database cannot be written.
    pub fn leave_order(&self) -> Result<()> {
        let leave = "DROP TABLE IF EXISTS mgp_order; DROP TABLE IF EXISTS mgp_agreed";
        Ok(self.connection().execute_batch(leave)?)
    }

    /// Makes the tables of this database the first entry of the order that it follows.
    ///
    /// # Errors
    /// [`StoreError::Begun`] if the order has entries already; other errors if it cannot be reached.
    pub fn begin_order(&self) -> Result<()> {
        let begun = self.append_tables();
        // A database that follows nothing yet stays apart from the order.
        if begun.is_err() && self.version()? == 0 {
            self.leave_order()?;
        }
        begun
    }

    fn append_tables(&self) -> Result<()> {
        let Some(shared) = self.shared() else { return Ok(()) };
        let mut connection = self.connection();
        let news = shared.order.since(0)?;
        if news.snapshot.is_none() && news.entries.is_empty() {
            shared::set_position(&connection, &Position { version: 1, link: random_bytes() })?;
            shared.order.store_snapshot(shared.copy(&mut connection)?)?;
        }
        let at = shared::position(&connection)?;
        // Who begins at the same time has another digest, and one of both comes first.
        let is_own = |copy: crate::Snapshot| (copy.version, copy.link) == (at.version, at.link);
        if shared.order.since(0)?.snapshot.is_some_and(is_own) { Ok(()) } else { Err(StoreError::Begun) }
    }
}
