//! The database in which the sections of MGP store what outlives the process.
//!
//! A [`Database`] is a file of SQLite, or lies in memory. Each section brings its own tables up to date
//! ([`Database::section`]) and changes them by statements ([`Database::change`]).
//!
//! Several kernels that decide as one share an [`Order`] of changes. Each has a whole copy of the tables; who changes
//! something takes the turn, carries out what others changed meanwhile, then its own statements, and appends these to the
//! order, sealed and linked by their digests. So what is read is always a copy on this machine, a change is decided on the
//! newest state, and no row that somebody else wrote into the order is ever carried out.
//!
//! ```
//! use mgp_store::Database;
//! use rusqlite::params;
//!
//! let things = Database::in_memory()?.section("things", &["CREATE TABLE things (name TEXT PRIMARY KEY) STRICT"])?;
//! things.execute("INSERT INTO things VALUES (?1)", params!["lamp"])?;
//! let names = things.read_all("SELECT name FROM things", [], |row| Ok(row.get::<_, String>(0)?))?;
//! assert_eq!(names, ["lamp"]);
//! # Ok::<(), mgp_store::StoreError>(())
//! ```
//!
//! The feature `postgres` brings an order that lies in PostgreSQL.

mod change;
mod copied_rows;
mod database;
mod error;
mod joining;
mod order;
#[cfg(feature = "postgres")]
mod postgres;
mod reserve;
mod shared;
mod snapshot;
#[doc(hidden)]
pub mod testing;

pub use change::Change;
pub use database::{Database, check_own, off_the_runtime, optional_time, text, time};
use error::Result;
pub use error::{StoreError, unrecordable};
pub use order::{Entry, News, Order, OrderKey, Snapshot, Turn};
#[cfg(feature = "postgres")]
pub use postgres::{Postgres, PostgresOrder};
pub use reserve::{Reserve, disk_room};
