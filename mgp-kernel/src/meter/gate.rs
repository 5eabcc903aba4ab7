use mgp_types::{Error, Flow, Gate, Kind, Request, Response};
use tokio::time::Instant;

use super::Meter;

/// Counts the calls of one server. Takes no lock and allocates nothing.
#[derive(Debug, Clone)]
pub(crate) struct MeterGate(pub(crate) Meter);

impl Gate for MeterGate {
    type Pass = Option<CountedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass((request.kind == Kind::Call).then(|| CountedCall::begin(&self.0)))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(call) = call {
            self.0.ended(call.since.elapsed(), outcome.is_err());
        }
    }
}

/// A call that is counted as in work for as long as this is there.
pub(crate) struct CountedCall {
    meter: Meter,
    since: Instant,
}

impl CountedCall {
    fn begin(meter: &Meter) -> Self {
        meter.begun();
        Self { meter: meter.clone(), since: Instant::now() }
    }
}

impl Drop for CountedCall {
    fn drop(&mut self) {
        self.meter.dropped();
    }
}
