//! The list of the kernels that share a database, their records, and what they use of limits together.

use std::collections::{BTreeMap, BTreeSet};

use super::order::given_back;
use super::{Postgres, in_time, query_prepared};
use crate::Result;

impl Postgres {
    /// Tells the others that the kernel `id` runs, how they reach it, and what it says of itself, as JSON, and returns the ids
    /// and addresses of the others that told something within ten seconds. Kernels that nobody has seen for a day are forgotten, and limits of which
    /// nobody has used anything for a month.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn tell_of(&self, id: &str, address: &str, state: &str) -> Result<BTreeSet<String>> {
        let client = self.client().await?;
        let seen = query_prepared(&client, include_str!("tell_of.sql"), &[&id, &address, &state]).await;
        given_back(client, seen.map(|rows| rows.iter().map(|row| row.get(0)).collect()))
    }

    /// Removes the kernel `id` from the list, and gives its leases back.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn forget(&self, id: &str) -> Result<()> {
        let client = self.client().await?;
        let forget =
            "WITH given_back AS (UPDATE mgp_lease SET until = now() WHERE owner = $1 AND until > now())
            DELETE FROM mgp_replica WHERE id = $1";
        let forgotten = in_time(client.execute(forget, &[&id])).await;
        given_back(client, forgotten.map(drop))
    }

    /// Adds what this kernel used of limits to what others did, and returns how much that is of each. A use is the id of the
    /// limit, the amount, and the amount that the limit gives back in a second.
    ///
    /// # Errors
    /// Fails if the database cannot be reached; the uses may have been added then.
    pub async fn add_uses(&self, uses: &[(i64, f64, f64)]) -> Result<BTreeMap<i64, f64>> {
        let client = self.client().await?;
        let (ids, amounts, returned): (Vec<i64>, Vec<f64>, Vec<f64>) = uses.iter().copied().collect();
        let sums = query_prepared(&client, include_str!("add_uses.sql"), &[&ids, &amounts, &returned]).await;
        given_back(client, sums.map(|rows| rows.iter().map(|row| (row.get(0), row.get(1))).collect()))
    }

    /// Adds events to the record of the kernel `id`: all of them or, if one of their numbers is taken, none. An event is its
    /// number, its JSON and its link.
    ///
    /// # Errors
    /// Fails if a number is taken, or the database cannot be reached; the events may have been added in the latter case.
    pub async fn add_events(&self, id: &str, events: &[(i64, &str, &[u8])]) -> Result<()> {
        let client = self.client().await?;
        let (numbers, bodies, links): (Vec<i64>, Vec<&str>, Vec<&[u8]>) = events.iter().copied().collect();
        let added =
            query_prepared(&client, include_str!("add_events.sql"), &[&id, &numbers, &bodies, &links]).await;
        given_back(client, added.map(drop))
    }

    /// Renews the leases of the kernel `id`, takes free ones of `servers` up to its part of them, and returns those of `servers`
    /// as JSON: by server the address of the other kernel that has the lease, its number, and the milliseconds left of it.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn leases(&self, id: &str, servers: &[String]) -> Result<String> {
        self.text(include_str!("leases.sql"), &[&id, &servers]).await
    }

    /// Returns all kernels, orders and leases as JSON, with ages in milliseconds.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or a kernel says of itself what is no JSON object.
    pub async fn cluster(&self) -> Result<String> {
        self.text(include_str!("cluster.sql"), &[]).await
    }
}
