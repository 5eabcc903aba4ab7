//! The counts of each server's calls, by tool: how many there were, how they ended, and how long they took.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use mgp_types::{CallEnding, Error, Flow, Gate, Method, Request, RequestKind, Response};
use tokio::time::Instant;

/// The counts of one server's calls. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<ServerCounters>);

#[derive(Debug, Default)]
struct ServerCounters {
    in_work: OpenRequests,
    /// The counts of each tool that was called, up to [`MAX_TOOLS`], of all others as [`OTHER`], and without a name of the
    /// requests that call no tool.
    tools: ArcSwap<HashMap<Box<str>, Arc<CallCounters>, RandomState>>,
}

/// The counts of the calls that succeeded, of those whose tool failed, and of those that ended in an error.
#[derive(Debug, Default)]
struct CallCounters([EndingCounters; 3]);

/// The words for the endings of calls in the metrics: the types of errors of OpenTelemetry.
const ERROR_TYPES: [&str; 3] = ["", "tool_error", "_OTHER"];

#[derive(Debug, Default)]
struct EndingCounters {
    micros: AtomicU64,
    /// The number of calls that took up to each bound; the last one counts those that took longer.
    took: [AtomicU64; BOUNDS.len() + 1],
}

/// The counts of a [`Meter`], or of a part of it, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MeterReading {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) in_work: u64,
    pub(crate) micros: u64,
    pub(crate) took: [u64; BOUNDS.len() + 1],
}

/// The labels of a series of the metrics: the method, the tool and the type of the error; empty where there is none.
pub(crate) type SeriesLabels<'a> = [(&'static str, &'a str); 3];

/// The number of requests that are not over. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenRequests(Arc<AtomicU64>);

/// A guard that counts a request as open for as long as it lives.
pub(crate) struct OpenRequest(OpenRequests);

impl OpenRequests {
    pub(crate) fn begin(&self) -> OpenRequest {
        self.0.fetch_add(1, Ordering::AcqRel);
        OpenRequest(self.clone())
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Meter {
    /// Returns the counts for a tool. Allocates for one that was not called before.
    fn of_tool(&self, name: &str) -> Arc<CallCounters> {
        let known = self.0.tools.load();
        let is_full = known.len() >= MAX_TOOLS && !name.is_empty();
        if let Some(counters) = known.get(name).or_else(|| known.get(OTHER).filter(|_| is_full)) {
            return Arc::clone(counters);
        }
        let name = if is_full { OTHER } else { name };
        let new = Arc::<CallCounters>::default();
        let before = self.0.tools.rcu(|known| {
            let mut known = HashMap::clone(known);
            known.entry(name.into()).or_insert_with(|| Arc::clone(&new));
            known
        });
        Arc::clone(before.get(name).unwrap_or(&new))
    }

    /// Returns the counts of all calls together.
    pub(crate) fn read(&self) -> MeterReading {
        let mut all = MeterReading { in_work: self.0.in_work.count(), ..MeterReading::default() };
        self.each(|[.., (_, error_type)], reading| all.add(reading, error_type == ERROR_TYPES[2]));
        all
    }

    /// Visits the counts of each series that is not empty.
    pub(crate) fn each(&self, mut visit: impl FnMut(SeriesLabels<'_>, &MeterReading)) {
        for (tool, counters) in self.0.tools.load().iter() {
            let method = if tool.is_empty() { OTHER } else { "tools/call" };
            for (counters, error_type) in counters.0.iter().zip(ERROR_TYPES) {
                let reading = counters.read();
                if reading.calls > 0 {
                    let labels = [
                        ("mcp_method_name", method),
                        ("gen_ai_tool_name", &**tool),
                        ("error_type", error_type),
                    ];
                    visit(labels, &reading);
                }
            }
        }
    }
}

impl CallCounters {
    fn ended(&self, took: Duration, outcome: &Result<Response, Error>) {
        let ending = match outcome {
            Err(_) => 2,
            Ok(response) => usize::from(response.result.ending() == CallEnding::Failed),
        };
        self.0[ending].count(took);
    }
}

impl EndingCounters {
    fn count(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.took[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    fn read(&self) -> MeterReading {
        let took = std::array::from_fn(|bucket| self.took[bucket].load(Ordering::Relaxed));
        let micros = self.micros.load(Ordering::Relaxed);
        MeterReading { calls: took.iter().sum(), micros, took, ..MeterReading::default() }
    }
}

impl MeterReading {
    fn add(&mut self, part: &Self, is_failed: bool) {
        self.calls += part.calls;
        self.failed += if is_failed { part.calls } else { 0 };
        self.micros += part.micros;
        self.took.iter_mut().zip(part.took).for_each(|(all, part)| *all += part);
    }

    /// Returns the time that this percentage of the calls took at most, as far as buckets tell; `None` without calls, and for
    /// calls beyond the last bound.
    pub(crate) fn percentile(&self, percent: u64) -> Option<Duration> {
        let rank = self.calls.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0;
        let bucket = self.took.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        (self.calls > 0).then(|| BOUNDS.get(bucket).copied().map(Duration::from_micros)).flatten()
    }
}

/// The upper bounds of the buckets, in microseconds: 1, 2.5 and 5 times the powers of ten, from a tenth of a
/// millisecond to a minute.
pub(crate) const BOUNDS: [u64; 18] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 25_000_000, 60_000_000,
];

/// The largest number of tools of a server that are counted on their own.
const MAX_TOOLS: usize = 100;
/// The word of OpenTelemetry for what is not told apart.
const OTHER: &str = "_OTHER";

/// A gate that counts the calls of one server as long as they are in work, and those on one of its connections; the time for
/// which they wait for people is part of that.
#[derive(Debug, Clone)]
pub(crate) struct OpenCallGate(pub(crate) Meter, pub(crate) OpenRequests);

impl Gate for OpenCallGate {
    type Pass = Option<[OpenRequest; 2]>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.kind == RequestKind::Call;
        Flow::Pass(is_call.then(|| [self.0.0.in_work.begin(), self.1.begin()]))
    }
}

/// A gate that measures the calls that go on to one server. It stands behind all that decides and waits for people: a call
/// that is refused, or whose caller waits for an approval, says nothing of the server. Takes no lock, and allocates for tools
/// that were not called before.
#[derive(Debug, Clone)]
pub(crate) struct MeterGate(pub(crate) Meter);

impl Gate for MeterGate {
    type Pass = Option<MeasuredCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass((request.kind == RequestKind::Call).then(|| {
            let tool = match request.context.tool.as_deref() {
                _ if request.method != Method::TOOLS_CALL => "",
                Some(tool) => tool.name.as_str(),
                None => OTHER,
            };
            MeasuredCall { counters: self.0.of_tool(tool), since: Instant::now() }
        }))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(call) = call {
            call.counters.ended(call.since.elapsed(), outcome);
        }
    }
}

/// A call that the server works on.
pub(crate) struct MeasuredCall {
    counters: Arc<CallCounters>,
    since: Instant,
}

#[cfg(test)]
mod tests {
    use mgp_types::{Object, RawJson, gates};
    use tokio::time::sleep;
    use tower_service::Service as _;

    use super::*;
    use crate::test_kernel::TestServer;

    /// A person who answers after an hour.
    #[derive(Clone)]
    struct Person {
        allows: bool,
    }

    impl Gate for Person {
        type Pass = ();

        fn enter(&self, request: &mut Request) -> Flow {
            let (request, allows) = (request.take(), self.allows);
            Flow::wait(async move {
                sleep(Duration::from_hours(1)).await;
                let no = || Flow::refuse(Error::invalid_request("no"));
                (request, if allows { Flow::Pass(()) } else { no() })
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_counts_once_a_person_has_let_it_through_and_the_wait_is_not_the_servers() {
        for (allows, counted) in [(true, 1), (false, 0)] {
            let meter = Meter::default();
            let decide = gates![OpenCallGate(meter.clone(), OpenRequests::default()), Person { allows }];
            let mut service = decide.layer(MeterGate(meter.clone()).layer(TestServer::default()));
            let call = tokio::spawn(service.call(Request::call("tools/call", Object::new())));
            tokio::task::yield_now().await;
            assert_eq!(meter.read().in_work, 1, "it is in progress while it waits");
            assert_eq!(call.await.unwrap().is_ok(), allows);
            let reading = meter.read();
            assert_eq!((reading.calls, reading.failed, reading.micros), (counted, 0, 0));
        }
    }

    fn answer(text: &str) -> Response {
        Response::plain(RawJson::parse(text.to_owned()).unwrap())
    }

    #[test]
    fn what_was_counted_is_read() {
        let meter = Meter::default();
        for millis in 1..=100 {
            let outcome = if millis > 95 { Err(Error::internal("x")) } else { Ok(answer("{}")) };
            let open = meter.0.in_work.begin();
            assert_eq!(meter.read().in_work, 1);
            meter.of_tool("read").ended(Duration::from_millis(millis), &outcome);
            drop(open);
        }
        let reading = meter.read();
        assert_eq!((reading.calls, reading.failed, reading.in_work), (100, 5, 0));
        assert_eq!(reading.percentile(50), Some(Duration::from_millis(50)));
        assert_eq!(reading.percentile(95), Some(Duration::from_millis(100)));
        assert_eq!(reading.micros, 5_050_000);
    }

    #[test]
    fn nothing_is_said_of_calls_that_never_were() {
        assert_eq!(Meter::default().read().percentile(50), None);
        let meter = Meter::default();
        meter.of_tool("slow").ended(Duration::from_hours(1), &Ok(answer("{}")));
        assert_eq!(meter.read().percentile(50), None, "it took longer than can be said");
    }

    #[test]
    fn a_server_with_many_tools_has_a_bounded_number_of_series() {
        let meter = Meter::default();
        for number in 0..MAX_TOOLS + 20 {
            let result = Ok(answer(r#"{"content":[],"isError":true}"#));
            meter.of_tool(&number.to_string()).ended(Duration::ZERO, &result);
        }
        let mut series = Vec::new();
        meter.each(|[_, (_, tool), (_, error)], reading| {
            series.push((tool.to_owned(), error.to_owned(), reading.calls));
        });
        assert_eq!(series.len(), MAX_TOOLS + 1);
        assert!(series.contains(&(OTHER.to_owned(), "tool_error".to_owned(), 20)), "{series:?}");
        assert_eq!((meter.read().calls, meter.read().failed), (120, 0));
    }
}
