//! The kernels that share their decisions: what each says of itself, and the tables that all of them use.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::net::IpAddr;

use clap::Args;
use mgp_store::StoreError;
use mgp_types::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::operation::{Operation, OperatorCall};
use crate::replicas::ClusterLink;
use crate::terminal::{TextForm, TextWriter, or_dash, printable, with_causes};

/// Shows the kernels that share their decisions, how long the orders of changes are, and who runs which server.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ReadClusterStatus {}

/// Has all kernels use the tables of this version of mgp.
#[derive(Debug, Serialize, Deserialize)]
pub struct MigrateStore {}

/// The kernels, orders and leases in the shared database. Kernels of other versions say other things of themselves.
#[derive(Debug, Serialize, Deserialize)]
pub struct ClusterStatus {
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
        let names = self.names();
        let kernels = self.kernels.iter().zip(&names).map(|(kernel, name)| {
            let behind = match self.entries_behind(kernel) {
                Some(0) => "all".to_owned(),
                behind => behind.map_or_else(unknown, |entries| format!("{entries} behind")),
            };
            let clock = number(kernel, "clock_ms").map_or_else(unknown, |ahead| format!("{ahead:+} ms"));
            let recorded = text(kernel, "record").and_then(|head| head.split_once(':'));
            [
                name.clone(),
                or_dash(text(kernel, "version")),
                time(kernel, "up_ms"),
                time(kernel, "seen_ms"),
                time(kernel, "lag_ms"),
                behind,
                clock,
                or_dash(recorded.map(|(events, _)| events)),
            ]
        });
        let heads = ["KERNEL", "VERSION", "RUNS FOR", "SEEN", "LAG", "KNOWS", "CLOCK", "EVENTS"];
        out.table(&heads, kernels, "no kernels")?;
        for (kernel, name) in self.kernels.iter().zip(&names) {
            if let Some(fault) = text(kernel, "fault") {
                writeln!(out, "{name}: {}", printable(fault))?;
            }
        }
        let orders = self.orders.iter().map(|order| {
            let count = |of| or_dash(number(order, of));
            [or_dash(text(order, "order")), count("entries"), count("copied_at")]
        });
        writeln!(out)?;
        out.table(&["DECISIONS", "ENTRIES", "COPY UP TO"], orders, "no decisions")?;
        let leases = self.leases.iter().map(|lease| {
            let is_owner = |kernel: &&ClusterRow| text(kernel, "id") == text(lease, "owner");
            let owner = self.kernels.iter().zip(&names).find(|(kernel, _)| is_owner(kernel));
            let owner = owner.map_or_else(|| "a kernel that is gone".to_owned(), |(_, name)| name.clone());
            [or_dash(text(lease, "server")), owner, time(lease, "ends_ms")]
        });
        writeln!(out)?;
        out.table(&["SERVER", "RUNS AT", "LEASE ENDS IN"], leases, "no servers run at one kernel for all")
    }
}

impl ClusterStatus {
    /// Returns the names of the kernels for people: their hosts, or whole addresses where hosts are not enough.
    fn names(&self) -> Vec<String> {
        let named = |of: fn(&str) -> &str| -> Vec<String> {
            let name =
                |kernel: &ClusterRow| match text(kernel, "address").filter(|address| !address.is_empty()) {
                    Some(address) => of(address).to_owned(),
                    None => text(kernel, "id").unwrap_or("-").chars().take(ID_CHARS).collect(),
                };
            self.kernels.iter().map(name).collect()
        };
        let short = named(short_host);
        let is_unique = short.iter().collect::<BTreeSet<_>>().len() == short.len();
        if is_unique { short } else { named(|address| address) }
    }

    /// Returns how many entries of all orders together a kernel does not know yet.
    fn entries_behind(&self, kernel: &ClusterRow) -> Option<i64> {
        let known_entries = kernel.get("knows")?;
        let behind = |order: &ClusterRow| {
            let known = known_entries.get(text(order, "order")?)?.as_i64()?;
            Some((number(order, "entries")? - known).max(0))
        };
        Some(self.orders.iter().filter_map(behind).sum())
    }
}

/// Returns the host of an address: an IP address, or the first label of a name.
fn short_host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let is_name = host.parse::<IpAddr>().is_err() && !host.starts_with('[');
    if is_name { host.split('.').next().unwrap_or(host) } else { host }
}

fn text<'a>(row: &'a ClusterRow, name: &str) -> Option<&'a str> {
    row.get(name)?.as_str()
}

fn number(row: &ClusterRow, name: &str) -> Option<i64> {
    row.get(name)?.as_i64()
}

/// Returns a time in the largest unit of which it has two.
fn time(row: &ClusterRow, name: &str) -> String {
    let Some(millis) = number(row, name) else { return unknown() };
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.into_iter().find(|(length, _)| millis >= 2 * length);
    unit.map_or_else(|| format!("{millis} ms"), |(length, unit)| format!("{} {unit}", millis / length))
}

fn unknown() -> String {
    or_dash(None::<&str>)
}

/// The number of characters of an id that tell kernels without an address apart.
const ID_CHARS: usize = 8;

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

#[cfg(test)]
mod tests {
    use super::*;

    fn status(second: &str) -> ClusterStatus {
        let kernel = |id: &str, address: &str, fault: Option<&str>| {
            serde_json::json!({
                "id": id, "address": address, "version": "0.1.0", "up_ms": 93_784_000_i64, "seen_ms": 412,
                "lag_ms": 38, "clock_ms": -12, "knows": {"policy": 198, "effects": 4_000_123},
                "record": "45210:9f2c6b1de0a7c4", "fault": fault,
            })
        };
        let order = |name: &str, entries: u64| serde_json::json!({"order": name, "entries": entries, "copied_at": 128});
        let lease = |server: &str, owner: &str| serde_json::json!({"server": server, "owner": owner, "epoch": 7, "ends_ms": 6_412});
        let told = serde_json::json!({
            "kernels": [
                kernel("0193b2e0-aaaa", "mgp-0.mgp-kernels.default.svc.cluster.local:7334", None),
                kernel("0193b2e0-bbbb", second, Some("the shared database does not answer")),
            ],
            "orders": [order("policy", 201), order("effects", 4_000_123)],
            "leases": [lease("files", "0193b2e0-bbbb"), lease("browser", "0193b2e0-cccc")],
        });
        serde_json::from_value(told).unwrap()
    }

    #[test]
    fn the_kernels_are_shown_by_name_without_json_in_lines_that_fit_a_terminal() {
        let shown = TextWriter::text_of(&status("mgp-1.mgp-kernels.default.svc.cluster.local:7334"));
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        assert!(!shown.contains(['{', '"']) && !shown.contains("0193b2e0"), "{shown}");
        let cells = |begin: &str| {
            let line =
                shown.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{shown}"));
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(cells("mgp-0"), "mgp-0 0.1.0 26 h 412 ms 38 ms 3 behind -12 ms 45210");
        assert_eq!(cells("mgp-1:"), "mgp-1: the shared database does not answer");
        assert_eq!(cells("files"), "files mgp-1 6 s");
        assert_eq!(cells("browser"), "browser a kernel that is gone 6 s");
    }

    #[test]
    fn kernels_of_one_host_are_told_apart_by_their_whole_addresses() {
        let named = |second: &str| status(second).names().remove(1);
        assert_eq!(named("10.0.0.6:7334"), "10.0.0.6");
        assert_eq!(named("mgp-0.elsewhere:7334"), "mgp-0.elsewhere:7334");
        assert_eq!(named(""), "0193b2e0");
    }
}
