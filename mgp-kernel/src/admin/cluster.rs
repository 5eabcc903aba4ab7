//! The kernels that share their decisions: what each says of itself, and the tables that all of them use.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};

use clap::Args;
use mgp_store::StoreError;
use mgp_types::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operation::{Operation, OperatorCall};
use crate::replicas::ClusterLink;
use crate::terminal::{TextForm, TextWriter, with_causes};

/// Shows the kernels that share their decisions, how long the orders of changes are, and who runs which server.
#[derive(Debug, Args, Serialize, Deserialize)]
pub(crate) struct ReadClusterStatus {}

/// Has all kernels use the tables of this version of mgp.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MigrateStore {}

/// The kernels, orders and leases in the shared database. Kernels of other versions say other things of themselves.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ClusterStatus {
    kernels: Vec<ClusterRow>,
    orders: Vec<ClusterRow>,
    leases: Vec<ClusterRow>,
}

/// The facts about a kernel, an order or a lease, by their names.
type ClusterRow = BTreeMap<String, Value>;

impl Operation for ReadClusterStatus {
    type Reply = ClusterStatus;

    async fn run(self, call: &OperatorCall) -> Result<ClusterStatus, Error> {
        read(linked(call)?).await
    }
}

impl Operation for MigrateStore {
    type Reply = ClusterStatus;

    async fn run(self, call: &OperatorCall) -> Result<ClusterStatus, Error> {
        let (link, version) = (linked(call)?, env!("CARGO_PKG_VERSION"));
        let is_other = |kernel: &&ClusterRow| {
            let is_seen = kernel.get("seen_ms").and_then(Value::as_u64).is_none_or(|seen| seen < SEEN_MS);
            is_seen && kernel.get("version").is_none_or(|other| other != version)
        };
        if let Some(other) = read(link).await?.kernels.iter().find(is_other) {
            let id = other.get("id").and_then(Value::as_str).unwrap_or_default();
            let message = format!("the kernel {id} is not of mgp {version}: update all of them first");
            return Err(Error::invalid_request(message));
        }
        call.record_act("dev.cloto.mgp.store_migrated", &[]).await?;
        link.agree().await.map_err(unusable)?;
        read(link).await
    }
}

impl TextForm for ClusterStatus {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let cell = |value: Option<&Value>| match value {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => "-".to_owned(),
            Some(value) => value.to_string(),
        };
        for rows in [&self.kernels, &self.orders, &self.leases] {
            let heads: BTreeSet<&str> = rows.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
            let heads: Vec<&str> = heads.into_iter().collect();
            let cells =
                rows.iter().map(|row| heads.iter().map(|head| cell(row.get(*head))).collect::<Vec<_>>());
            out.table(&heads, cells, "none")?;
            writeln!(out)?;
        }
        Ok(())
    }
}

fn linked(call: &OperatorCall) -> Result<&ClusterLink, Error> {
    call.kernel.link.as_deref().ok_or_else(|| Error::invalid_request(ALONE))
}

async fn read(link: &ClusterLink) -> Result<ClusterStatus, Error> {
    let status = link.cluster().await.map_err(unusable)?;
    serde_json::from_str(&status)
        .map_err(|error| Error::internal("the list of the kernels cannot be read").with_source(error))
}

fn unusable(error: StoreError) -> Error {
    let what = with_causes(&format!("the database of `[store]`: {error}"), &error);
    Error::internal(what).with_source(error)
}

const ALONE: &str =
    "this kernel decides alone: `url` of `[store]` in mgp.toml names a database that it shares with others";

/// The time for which a kernel counts as running since it told of itself, in milliseconds.
const SEEN_MS: u64 = 10_000;
