//! The list of the kernels that share a database.

use std::collections::BTreeSet;

use super::order::given_back;
use super::{Postgres, in_time};
use crate::StoreError;

impl Postgres {
    /// Tells the others that the kernel `id` runs, how they reach it, and what it says of itself, as JSON, and returns the ids
    /// of those that have told nothing for ten seconds. Kernels that nobody has seen for a day are forgotten.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn tell_of(
        &self,
        id: &str,
        address: &str,
        state: &str,
    ) -> Result<BTreeSet<String>, StoreError> {
        let client = self.client().await?;
        let tell = "WITH forgotten AS (DELETE FROM mgp_replica WHERE seen_at < now() - interval '1 day' AND id <> $1),
            told AS (INSERT INTO mgp_replica (id, address, state) VALUES ($1, $2, $3)
            ON CONFLICT (id) DO UPDATE SET address = excluded.address, seen_at = now(), state = excluded.state)
            SELECT id FROM mgp_replica WHERE seen_at < now() - interval '10 seconds' AND id <> $1";
        let gone = in_time(client.query(tell, &[&id, &address, &state])).await;
        given_back(client, gone.map(|rows| rows.iter().map(|row| row.get(0)).collect()))
    }

    /// Removes the kernel `id` from the list.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn forget(&self, id: &str) -> Result<(), StoreError> {
        let client = self.client().await?;
        let forgotten = in_time(client.execute("DELETE FROM mgp_replica WHERE id = $1", &[&id])).await;
        given_back(client, forgotten.map(drop))
    }

    /// Returns all kernels, orders and leases as JSON, with ages in milliseconds.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or a kernel says of itself what is no JSON object.
    pub async fn cluster(&self) -> Result<String, StoreError> {
        let client = self.client().await?;
        let read = in_time(client.query_one(include_str!("cluster.sql"), &[])).await;
        given_back(client, read.map(|row| row.get(0)))
    }
}
