//! Simulates many kernels in one process that share an order of changes: how long it takes until all of them have carried out
//! a change, and what they ask of the database. The order lies in memory, with the times of a database in the same network.
//! Each line is a JSON object; `cargo xtask cluster` makes a table of them.
//!
//! ```sh
//! cargo run --release -p mgp-store --example replicas -- 100
//! ```
#![allow(clippy::print_stdout, reason = "the figures are what the example is for")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mgp_store::testing::MemoryOrder;
use mgp_store::{Database, Entry, News, Order, OrderKey, Snapshot, StoreError, Turn};
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::params;
use serde_json::json;
use tokio::time::Instant;

fn main() -> Result<(), StoreError> {
    let kernels = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100);
    for (changes_per_second, has_notices) in [(1, true), (10, true), (40, true), (10, false)] {
        simulate(kernels, changes_per_second, has_notices)?;
    }
    Ok(())
}

/// Runs the kernels for a while, and prints what it was like.
fn simulate(kernels: usize, changes_per_second: u64, has_notices: bool) -> Result<(), StoreError> {
    let order = Arc::new(RemoteOrder { has_notices, ..RemoteOrder::default() });
    let databases = (0..kernels).map(|_| kernel_of(&order)).collect::<Result<Vec<_>, _>>()?;
    let changes = changes_per_second * SECONDS;
    let known: Vec<Vec<Instant>> = thread::scope(|scope| {
        let following: Vec<_> =
            databases.iter().map(|database| scope.spawn(|| follow(database, &order, changes))).collect();
        let began = Instant::now();
        let changing: Vec<_> = databases
            .iter()
            .take(OPERATORS)
            .zip(0..)
            .map(|(database, first)| scope.spawn(move || change(database, first, changes, began)))
            .collect();
        let asked: BTreeMap<u64, Instant> =
            changing.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect();
        let known = following.into_iter().map(|thread| thread.join().unwrap_or_default());
        let mut known: Vec<_> = known.collect();
        known.push(asked.into_values().collect());
        known
    });
    let (asked, known) = known.split_last().expect("the times at which the changes were asked for");
    let of_all = |at: usize| known.iter().map(|kernel| kernel[at]).max();
    let mut lags: Vec<Duration> =
        asked.iter().zip(0..).filter_map(|(asked, at)| Some(of_all(at)?.duration_since(*asked))).collect();
    lags.sort_unstable();
    let milliseconds = |share: usize| lags[(lags.len() - 1) * share / 100].as_secs_f64() * 1e3;
    let a_second = |count: u64| count / SECONDS;
    println!(
        "{}",
        json!({
            "kernels": kernels, "changes_per_second": changes_per_second, "has_notices": has_notices,
            "known_by_all_ms": { "p50": milliseconds(50), "p99": milliseconds(99), "max": milliseconds(100) },
            "queries_per_second": a_second(order.queries.load(Ordering::Relaxed)),
            "notices_per_second": if has_notices { changes_per_second * kernels as u64 } else { 0 },
        })
    );
    Ok(())
}

fn kernel_of(order: &Arc<RemoteOrder>) -> Result<Database, StoreError> {
    let database = Database::in_memory()?;
    database.share(Arc::clone(order) as _, OrderKey::new("simulation"))?;
    database.section("things", &["CREATE TABLE things (number INTEGER PRIMARY KEY) STRICT"])
}

/// Makes every change whose number is the operator's, at its time, and returns when each was asked for.
fn change(database: &Database, first: u64, changes: u64, began: Instant) -> Vec<(u64, Instant)> {
    let own = (first..changes).step_by(OPERATORS);
    own.map(|number| {
        let due = began + Duration::from_millis(SECONDS * 1_000 * number / changes);
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let asked = Instant::now();
        let add = "INSERT INTO things VALUES (?1)";
        while database.execute(add, params![number.cast_signed()]).is_err() {}
        (number, asked)
    })
    .collect()
}

/// Follows the others until all changes are known, and returns when each was.
fn follow(database: &Database, order: &RemoteOrder, changes: u64) -> Vec<Instant> {
    let mut known = BTreeMap::new();
    let mut seen = 0;
    while known.len() as u64 != changes {
        seen = order.wait_behind(seen);
        if database.catch_up().is_err() {
            continue;
        }
        let now = Instant::now();
        let numbers = database.read_all("SELECT number FROM things", [], |row| Ok(row.get::<_, i64>(0)?));
        for number in numbers.unwrap_or_default() {
            known.entry(number).or_insert(now);
        }
    }
    known.into_values().collect()
}

/// An order to which each query takes as long as to a database in the same network.
#[derive(Debug, Default)]
struct RemoteOrder {
    order: MemoryOrder,
    turn: Mutex<()>,
    queries: AtomicU64,
    has_notices: bool,
    /// The number of notices so far.
    notices: Mutex<u64>,
    noticed: Condvar,
}

impl RemoteOrder {
    fn query(&self, queries: u32) {
        self.queries.fetch_add(u64::from(queries), Ordering::Relaxed);
        thread::sleep(ROUND_TRIP * queries);
    }

    /// Waits for a notice behind those `seen`, or until it is time to look without one, and returns how many there were.
    fn wait_behind(&self, seen: u64) -> u64 {
        let mut notices = self.notices.lock();
        if *notices == seen {
            self.noticed.wait_for(&mut notices, LOOK_EVERY);
        }
        *notices
    }
}

impl Order for RemoteOrder {
    fn since(&self, version: u64) -> Result<News, StoreError> {
        self.query(1);
        let news = self.order.since(version)?;
        if !news.entries.is_empty() {
            self.query(1);
        }
        Ok(news)
    }

    fn take_turn(&self, version: u64) -> Result<(News, Box<dyn Turn + '_>), StoreError> {
        self.query(1);
        let turn = self.turn.lock();
        self.query(2);
        let news = self.order.since(version)?;
        Ok((news, Box::new(RemoteTurn { order: self, _turn: turn })))
    }

    fn store_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.order.store_snapshot(snapshot)
    }
}

struct RemoteTurn<'a> {
    order: &'a RemoteOrder,
    _turn: MutexGuard<'a, ()>,
}

impl Turn for RemoteTurn<'_> {
    fn append(self: Box<Self>, entry: &Entry) -> Result<(), StoreError> {
        self.order.query(2);
        thread::sleep(FLUSH);
        self.order.order.take_turn(entry.version - 1)?.1.append(entry)?;
        if self.order.has_notices {
            *self.order.notices.lock() += 1;
            self.order.noticed.notify_all();
        }
        Ok(())
    }
}

/// The time from a question to its answer.
const ROUND_TRIP: Duration = Duration::from_micros(500);

/// The time in which a database writes to its disk.
const FLUSH: Duration = Duration::from_millis(2);

/// The longest time between two looks of a kernel at what others changed.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The number of kernels at which operators change something at the same time.
const OPERATORS: usize = 4;

/// The time for which the kernels run.
const SECONDS: u64 = 5;
