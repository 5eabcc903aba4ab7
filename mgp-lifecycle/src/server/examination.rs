//! The health checks and resources of a server, the memory of the process among them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mcp::Map;
use mgp_types::mgp::HealthStatus;
use mgp_types::{BoxFuture, Object, RawJson};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::server_lifecycle::Tasks;

/// The checks and resources of a server.
///
/// All checks run at once, each in a task of its own, so that a check that hangs or panics is no more than one that
/// failed. Checks run once at a time and their findings are kept for a moment, so that frequent requests cost nothing.
#[derive(Default)]
pub(super) struct HealthExamination {
    pub(super) checks: Mutex<Vec<(Arc<str>, Check)>>,
    pub(super) resources: Mutex<Vec<(Arc<str>, ResourceProbe)>>,
    findings: watch::Sender<Option<Arc<Findings>>>,
    /// The right to run the checks.
    turn: Arc<tokio::sync::Mutex<()>>,
}

pub(super) type Check = Arc<dyn Fn() -> BoxFuture<'static, bool> + Send + Sync>;
pub(super) type ResourceProbe = Arc<dyn Fn() -> Option<RawJson> + Send + Sync>;

/// The findings at one time.
#[derive(Debug)]
pub(super) struct Findings {
    at: Instant,
    checks: Vec<(Arc<str>, bool)>,
    pub(super) resources: Object,
}

/// The time for all checks; servers have five seconds to answer.
const LONGEST_EXAMINATION: Duration = Duration::from_secs(4);

const LONGEST_CHECK: Duration = Duration::from_secs(2);
const FRESH_FOR_PINGS: Duration = Duration::from_secs(10);
const FRESH: Duration = Duration::from_secs(1);

impl HealthExamination {
    /// Returns the health by the last findings; new checks begin if these are old.
    pub(super) fn last(self: &Arc<Self>, tasks: &Tasks) -> HealthStatus {
        if !self.checks.lock().is_empty() {
            self.begin(tasks, FRESH_FOR_PINGS);
        }
        self.findings.borrow().as_ref().map_or(HealthStatus::Healthy, |findings| findings.status())
    }

    /// Returns current findings.
    pub(super) async fn fresh(self: &Arc<Self>, tasks: &Tasks) -> Arc<Findings> {
        let mut findings = self.findings.subscribe();
        self.begin(tasks, FRESH);
        let asked = Instant::now();
        let is_fresh = move |found: &Option<Arc<Findings>>| {
            found.as_ref().is_some_and(|found| asked.saturating_duration_since(found.at) < FRESH)
        };
        let found = timeout(LONGEST_EXAMINATION, findings.wait_for(is_fresh)).await.ok().and_then(Result::ok);
        found.and_then(|found| found.clone()).unwrap_or_else(|| {
            // A check blocks its thread, so that no result comes in time.
            let checks = self.checks.lock().iter().map(|(name, _)| (Arc::clone(name), false)).collect();
            Arc::new(Findings { at: Instant::now(), checks, resources: Object::new() })
        })
    }

    /// Begins the checks, unless they were done a moment ago or are running.
    fn begin(self: &Arc<Self>, tasks: &Tasks, fresh: Duration) {
        let is_fresh = self.findings.borrow().as_ref().is_some_and(|found| found.at.elapsed() < fresh);
        if is_fresh {
            return;
        }
        let Ok(turn) = Arc::clone(&self.turn).try_lock_owned() else { return };
        let this = Arc::clone(self);
        tasks.spawn(async move {
            let findings = this.examine().await;
            this.findings.send_replace(Some(Arc::new(findings)));
            drop(turn);
        });
    }

    async fn examine(&self) -> Findings {
        let named = self.checks.lock().clone();
        let mut checks: Vec<_> = named.iter().map(|(name, _)| (Arc::clone(name), false)).collect();
        let mut running = JoinSet::new();
        for (place, (_, check)) in named.into_iter().enumerate() {
            running.spawn(async move { (place, matches!(timeout(LONGEST_CHECK, check()).await, Ok(true))) });
        }
        while let Some(done) = running.join_next().await {
            // A check that panicked keeps its first finding: failed.
            if let Ok((place, passed)) = done
                && let Some((_, outcome)) = checks.get_mut(place)
            {
                *outcome = passed;
            }
        }
        for (name, _) in checks.iter().filter(|(_, passed)| !passed) {
            tracing::warn!(check = %name, "health check failed");
        }
        Findings { at: Instant::now(), checks, resources: self.used() }
    }

    fn used(&self) -> Object {
        let mut used = Object::new();
        if let Some(bytes) = resident_bytes().and_then(|bytes| RawJson::from_value(&bytes).ok()) {
            used.set("memory_bytes", bytes);
        }
        let named = self.resources.lock().clone();
        for (name, resource) in named {
            let measured = catch_unwind(AssertUnwindSafe(|| resource()));
            if let Ok(Some(value)) = measured {
                used.set(name.to_string(), value);
            } else {
                tracing::warn!(resource = %name, "a resource cannot be reported");
            }
        }
        used
    }
}

mgp_types::partial_debug!(HealthExamination, self => findings: *self.findings.borrow());

impl Findings {
    /// Returns the worst health by the checks: all failed, some did, none did.
    pub(super) fn status(&self) -> HealthStatus {
        let failed = self.checks.iter().filter(|(_, passed)| !passed).count();
        match failed {
            0 => HealthStatus::Healthy,
            all if all == self.checks.len() => HealthStatus::Unhealthy,
            _ => HealthStatus::Degraded,
        }
    }

    /// Returns the checks as they stand in a report.
    pub(super) fn checks(&self) -> Object {
        let checks: Map<bool> = self.checks.iter().map(|(name, passed)| (&**name, *passed)).collect();
        Object::from_value(&checks).unwrap_or_default()
    }
}

/// Adds an item, in place of one of the same name.
pub(super) fn replace<T>(all: &Mutex<Vec<(Arc<str>, T)>>, name: &str, item: T) {
    let mut all = all.lock();
    match all.iter_mut().find(|(known, _)| **known == *name) {
        Some((_, old)) => *old = item,
        None => all.push((name.into(), item)),
    }
}

/// Returns the resident memory of the process in bytes, where the system tells it.
fn resident_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Reads the line `VmRSS:      5120 kB`. `statm` has the same number in pages, whose size only libc knows.
fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_set_is_read_and_nothing_else() {
        assert_eq!(parse("Name:\tx\nVmHWM:\t 9 kB\nVmRSS:\t  5120 kB\nThreads:\t1\n"), Some(5120 * 1024));
        for other in ["", "VmRSS:", "VmRSS: 1 MB", "VmRSS: -1 kB", "VmRSS: 18446744073709551615 kB"] {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
