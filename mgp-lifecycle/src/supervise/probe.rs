//! Probes of a server: their schedule, and the judgement of their answers.

use std::num::NonZeroU32;
use std::time::Duration;

use mgp_types::mgp::{Extension, HealthPing, HealthStatus, Timestamp, method};
use mgp_types::{Error, Method, Object, Origin, Params, Request, Response, RpcService, Session, call_once};

use crate::span::{LONGEST, share};

/// The method of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeMethod {
    /// The method `mgp/health/ping`, which also reports the health (§11.3).
    HealthPing,
    /// The method `ping` of MCP, in sessions.
    Ping,
    /// The method `server/discover`, where MCP has no `ping`.
    Discover,
}

impl ProbeMethod {
    /// Returns the best method that the server of this session understands.
    pub fn for_session(session: &Session) -> Self {
        if session.has(&Extension::Lifecycle) {
            Self::HealthPing
        } else if session.describes_each_request() {
            Self::Discover
        } else {
            Self::Ping
        }
    }

    fn request(self) -> Result<Request, Error> {
        match self {
            Self::HealthPing => Request::with_body(method::HEALTH_PING, &HealthPing::new(Timestamp::now())),
            Self::Ping => Ok(Request::call(Method::PING, Params::new())),
            Self::Discover => Ok(Request::call(Method::DISCOVER, Params::new())),
        }
    }
}

/// Probes a server once. The function waits as long as the server does; a supervisor limits it.
///
/// An error proves life as well as a result does, if it comes from the server: many do not know the method, and say so
/// in different ways.
pub async fn probe<S: RpcService>(service: S, method: ProbeMethod) -> ProbeResult {
    let answer = async { call_once(service, method.request()?).await };
    match answer.await {
        Ok(response) => ProbeResult::Answered(status(method, &response)),
        Err(error) => match error.origin() {
            Origin::Peer | Origin::Misbehaved | Origin::InputRequired => {
                ProbeResult::Answered(HealthStatus::Healthy)
            }
            Origin::Connection => ProbeResult::Unreachable,
            Origin::Timeout => ProbeResult::Missed,
            // A layer on this side refused, which tells nothing about the server.
            _ => ProbeResult::NotAsked,
        },
    }
}

/// Returns the health in the answer; an unreadable answer is still an answer.
fn status(method: ProbeMethod, response: &Response) -> HealthStatus {
    let said =
        || Object::from_raw(&response.to_raw()).ok()?.text("status").as_deref().and_then(HealthStatus::read);
    (method == ProbeMethod::HealthPing).then(said).flatten().unwrap_or(HealthStatus::Healthy)
}

mgp_types::with_defaults! {
    /// The settings of probes: when they are sent, and when a server counts as down. Default: every 30 seconds, and after three
    /// missing answers.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct ProbeSettings {
        /// The time between probes.
        pub interval: Duration = Duration::from_secs(30),
        /// The time for an answer; the specification gives servers 5 seconds (§11.3).
        pub answer_within: Duration = Duration::from_secs(5),
        /// The number of missing answers in a row after which a server is down.
        pub misses: NonZeroU32 = const { NonZeroU32::new(3).expect("is not zero") },
        /// The time until the next probe, where an answer is missing and the server has no call that keeps it busy, or cannot be
        /// reached at all; the usual time if left out. With it, a server that works on calls has 30 seconds until the next probe.
        pub recheck: Option<Duration> = None,
    }
}

impl ProbeSettings {
    /// Returns the settings for a server whose end nobody reports, such as one behind a URL: one that is away is noticed
    /// within 15 seconds.
    pub fn remote() -> Self {
        Self {
            interval: Duration::from_secs(7),
            answer_within: Duration::from_millis(2500),
            misses: const { NonZeroU32::new(2).expect("is not zero") },
            recheck: Some(Duration::from_millis(250)),
        }
    }

    /// Returns the wait before the first probe; `chance` is a random number.
    pub(super) fn first(&self, chance: u32) -> Duration {
        share(self.interval.min(LONGEST), chance).max(SHORTEST_WAIT)
    }

    /// Returns the wait after a probe, varied by `chance`, a random number.
    pub(super) fn next(&self, chance: u32) -> Duration {
        let fifth = self.interval.min(LONGEST) / 5;
        (fifth * 4 + share(fifth * 2, chance)).max(SHORTEST_WAIT)
    }

    /// Returns the wait after a missing answer; `None` for the usual one.
    pub(super) fn after_a_miss(&self, beat: ProbeResult, calls: u64) -> Option<Duration> {
        match beat {
            ProbeResult::Unreachable => self.recheck,
            ProbeResult::Missed if calls == 0 => self.recheck,
            ProbeResult::Missed => self.recheck.map(|_| BUSY),
            ProbeResult::Answered(_) | ProbeResult::NotAsked => None,
        }
    }
}

/// The wait after a missing answer of a server that works on calls, and may do one thing at a time.
const BUSY: Duration = Duration::from_secs(30);

/// The shortest wait: an interval of zero must not become a busy loop.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer came, or did not, or nobody was asked")]
pub enum ProbeResult {
    /// The server answered with this health.
    Answered(HealthStatus),
    /// No answer came in time.
    Missed,
    /// The server could not be reached.
    Unreachable,
    /// The server was not asked, so that its health is unknown.
    NotAsked,
}

/// The health of a server, as far as is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "what a server can say of itself, and what it cannot")]
pub enum ServerHealth {
    /// The server was not asked yet, or is not connected.
    #[default]
    Unknown,
    /// The server reported this health. An answer that came too late, or not at all, makes it at least degraded.
    Known(HealthStatus),
    /// The server has not answered for too long, and was ended; the state stays until there is another incarnation.
    Down,
}

/// The judgement of a server by its answers, as a value without a clock.
///
/// Only silence makes a server down. A server that reports itself unhealthy still answers: the kernel reports that, and
/// does not restart the server, because it knows best whether that would help, and may be working for others.
#[derive(Debug, Clone)]
pub(super) struct HealthTracker {
    limit: NonZeroU32,
    missed: u32,
    health: ServerHealth,
}

impl HealthTracker {
    /// Creates a judgement without answers; `misses` missing answers in a row are too many.
    pub(super) const fn new(misses: NonZeroU32) -> Self {
        Self { limit: misses, missed: 0, health: ServerHealth::Unknown }
    }

    /// Returns whether the last probe was answered, or none was sent yet.
    pub(super) const fn is_well(&self) -> bool {
        self.missed == 0
    }

    /// Returns the health of the server after this probe.
    pub(super) fn judge(&mut self, beat: ProbeResult) -> ServerHealth {
        match beat {
            ProbeResult::Answered(status) => {
                self.missed = 0;
                self.health = ServerHealth::Known(status);
            }
            ProbeResult::Missed | ProbeResult::Unreachable => {
                self.missed = self.missed.saturating_add(1);
                self.health = if self.missed >= self.limit.get() {
                    ServerHealth::Down
                } else if self.health == ServerHealth::Known(HealthStatus::Unhealthy) {
                    self.health
                } else {
                    ServerHealth::Known(HealthStatus::Degraded)
                };
            }
            ProbeResult::NotAsked => {}
        }
        self.health
    }
}

#[cfg(test)]
mod tests {
    use HealthStatus::{Degraded, Healthy, Unhealthy};
    use mgp_types::mgp::{ExtensionSet, HealthReport, Negotiated, Offer};
    use mgp_types::{RawJson, Revision};
    use parking_lot::Mutex;

    use super::*;
    use crate::doubles::Upstream;

    async fn beat(method: ProbeMethod, answer: Result<&str, Error>) -> (ProbeResult, String) {
        let answer = answer.map(|json| Response::new(RawJson::parse(json.to_owned()).unwrap()));
        let asked = std::sync::Arc::new(Mutex::new(String::new()));
        let seen = std::sync::Arc::clone(&asked);
        let service = Upstream::working(move |_, request: Request| {
            *seen.lock() = request.method.to_string();
            std::future::ready(answer.clone())
        });
        let beat = probe(service, method).await;
        let asked = asked.lock().clone();
        (beat, asked)
    }

    // covers: MGP-11.3-01, MGP-11.3-04, MGP-11.3-08..10
    #[tokio::test]
    async fn a_server_is_asked_in_the_words_it_knows_and_says_how_it_does() {
        for (method, name, answer, expected) in [
            (ProbeMethod::HealthPing, "mgp/health/ping", r#"{"status":"Degraded"}"#, HealthStatus::Degraded),
            (
                ProbeMethod::HealthPing,
                "mgp/health/ping",
                r#"{"status":"unhealthy"}"#,
                HealthStatus::Unhealthy,
            ),
            (ProbeMethod::HealthPing, "mgp/health/ping", r#"{"status":7}"#, HealthStatus::Healthy),
            (ProbeMethod::Ping, "ping", r#"{"status":"unhealthy"}"#, HealthStatus::Healthy),
            (ProbeMethod::Discover, "server/discover", "{}", HealthStatus::Healthy),
        ] {
            assert_eq!(
                beat(method, Ok(answer)).await,
                (ProbeResult::Answered(expected), name.to_owned()),
                "{answer}"
            );
        }
    }

    // covers: MGP-11.3-01
    #[tokio::test]
    async fn an_error_of_the_server_proves_life_and_one_of_our_own_nothing() {
        for (origin, expected) in [
            (Origin::Peer, ProbeResult::Answered(HealthStatus::Healthy)),
            (Origin::Misbehaved, ProbeResult::Answered(HealthStatus::Healthy)),
            (Origin::Connection, ProbeResult::Unreachable),
            (Origin::Timeout, ProbeResult::Missed),
            (Origin::Local, ProbeResult::NotAsked),
            (Origin::Cancelled, ProbeResult::NotAsked),
        ] {
            for code in [-32601, -32602] {
                let error = Error::from_origin(origin, code, "no");
                assert_eq!(beat(ProbeMethod::Ping, Err(error)).await.0, expected, "{origin:?}");
            }
        }
    }

    // covers: MGP-11.3-03
    #[tokio::test]
    async fn a_ping_says_when_it_was_sent_and_the_others_say_nothing() {
        for (method, members) in
            [(ProbeMethod::HealthPing, 1), (ProbeMethod::Ping, 0), (ProbeMethod::Discover, 0)]
        {
            let server = Upstream::answering(|_| Ok(Response::empty()));
            let before = Timestamp::now();
            probe(server.clone(), method).await;
            let asked = server.seen().remove(0);
            assert_eq!(asked.params.iter().count(), members, "{method:?}");
            if let Some(sent) = asked.params.text("timestamp") {
                let written: Timestamp = asked.params.get("timestamp").unwrap().to().unwrap();
                assert!(written >= before && written <= Timestamp::now());
                // The time is RFC 3339, in UTC.
                assert!(sent.len() >= 20 && sent.as_bytes()[10] == b'T' && sent.ends_with('Z'), "{sent}");
            }
        }
    }

    // covers: MGP-11.3-19
    #[test]
    fn a_report_may_have_any_resources_and_checks_or_none() {
        for (resources, checks) in
            [("{}", "{}"), (r#"{"gpu":{"used":[1]},"memory_bytes":"much"}"#, r#"{"moon_is_up":false}"#)]
        {
            let report = format!(
                r#"{{"status":"healthy","uptime_secs":1,"tools_available":0,"tools_total":0,"pending_requests":0,"resources":{resources},"checks":{checks}}}"#
            );
            let answer = Response::new(RawJson::parse(report).unwrap());
            let report: HealthReport = answer.body().unwrap();
            assert_eq!(report.status, HealthStatus::Healthy);
            assert_eq!(report.resources.to_raw().as_bytes(), resources.as_bytes());
            assert_eq!(report.checks.to_raw().as_bytes(), checks.as_bytes());
        }
    }

    #[test]
    fn the_method_is_the_best_that_the_session_has() {
        let mut session = Session::new(Revision::V2025_11_25);
        assert_eq!(ProbeMethod::for_session(&session), ProbeMethod::Ping);
        let offer = |names: &[&str]| Offer::new(ExtensionSet::from_names(names));
        session.mgp = Negotiated::agree(&offer(&["lifecycle"]), &offer(&["audit"]));
        assert_eq!(ProbeMethod::for_session(&session), ProbeMethod::Ping);
        session.mgp = Negotiated::agree(&offer(&["lifecycle"]), &offer(&["lifecycle"]));
        assert_eq!(ProbeMethod::for_session(&session), ProbeMethod::HealthPing);
        let stateless = Session::new(Revision::V2026_07_28);
        assert_eq!(ProbeMethod::for_session(&stateless), ProbeMethod::Discover);
    }

    fn health_after(beats: &[ProbeResult]) -> ServerHealth {
        let mut pulse = HealthTracker::new(NonZeroU32::new(3).unwrap());
        beats.iter().map(|beat| pulse.judge(*beat)).last().unwrap_or_default()
    }

    // covers: MGP-11.3-02, MGP-11.3-08..10
    #[test]
    fn silence_degrades_at_once_and_is_death_only_in_a_row() {
        use ProbeResult::{Answered, Missed, NotAsked, Unreachable};
        for (beats, expected) in [
            (vec![], ServerHealth::Unknown),
            (vec![NotAsked], ServerHealth::Unknown),
            (vec![Answered(Healthy)], ServerHealth::Known(Healthy)),
            (vec![Answered(Healthy), Missed], ServerHealth::Known(Degraded)),
            (vec![Answered(Unhealthy), Missed], ServerHealth::Known(Unhealthy)),
            (vec![Missed, Missed], ServerHealth::Known(Degraded)),
            (vec![Missed, Missed, Answered(Healthy), Missed, Missed], ServerHealth::Known(Degraded)),
            (vec![Missed, NotAsked, Missed, Missed], ServerHealth::Down),
            (vec![Missed, Unreachable, Unreachable], ServerHealth::Down),
            (vec![Answered(Unhealthy); 9], ServerHealth::Known(Unhealthy)),
        ] {
            assert_eq!(health_after(&beats), expected, "{beats:?}");
        }
    }
}
