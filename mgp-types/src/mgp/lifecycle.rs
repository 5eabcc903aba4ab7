//! The bodies of lifecycle management (§11): health, shutdown and changes of state.

use serde::{Deserialize, Deserializer, Serialize};

use super::recovery::without_fraction;
use super::{ServerId, Timestamp};
use crate::Object;
use crate::macros::record;
use crate::macros::words::words;

words! {
    /// The state of a server (§11.2).
    ServerState {
        /// The server is configured and was not started.
        Registered = "registered",
        /// The transport comes up, the handshake runs.
        Connecting = "connecting",
        /// The server takes calls.
        Connected = "connected",
        /// The server finishes its calls and takes no new ones.
        Draining = "draining",
        /// The transport is closed.
        Disconnected = "disconnected",
        /// The connection failed or broke.
        Error = "error",
        /// The server is stopped and started again.
        Restarting = "restarting",
    }

    /// The health of a server (§11.3).
    HealthStatus {
        /// The server can do everything.
        Healthy = "healthy",
        /// The server runs, and can do less than it should.
        Degraded = "degraded",
        /// The server has errors, and still answers.
        Unhealthy = "unhealthy",
    }

    /// The reason why a server is to stop (§11.4).
    ShutdownReason {
        /// A human wants the server to stop.
        OperatorRequest = "operator_request",
        /// The configuration of the server changed, so it has to start again.
        ConfigurationChange = "configuration_change",
        /// The server took more resources than it may.
        ResourceLimit = "resource_limit",
        /// Nobody has used the server for long.
        IdleTimeout = "idle_timeout",
        /// The kernel stops as a whole.
        KernelShutdown = "kernel_shutdown",
    }
}

/// The cases in which a server that ended is started again (§11.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum RestartPolicy {
    /// The server is not started again.
    Never,
    /// The server is started again if it ended in error.
    #[default]
    OnFailure,
    /// The server is started again in any case.
    Always,
}

record! {
    /// The parameters of `mgp/health/ping`.
    pub struct HealthPing: Eq {
        /// The time at which the ping was sent.
        required timestamp: Timestamp;
    }

    /// The result of `mgp/health/ping`.
    pub struct HealthPong: Eq {
        /// The health of the server.
        required status: HealthStatus;
        /// The time at which the server answered.
        required timestamp: Timestamp;
        /// The time in seconds for which the server has run.
        #[serde(deserialize_with = "whole")]
        required uptime_secs: u64;
        /// The id of the server.
        required server_id: ServerId;
    }

    /// The result of `mgp/health/status`.
    pub struct HealthReport {
        /// The health of the server.
        required status: HealthStatus;
        /// The time in seconds for which the server has run.
        #[serde(deserialize_with = "whole")]
        required uptime_secs: u64;
        /// The number of tools that can be called.
        #[serde(deserialize_with = "whole")]
        default tools_available: u64;
        /// The number of all tools.
        #[serde(deserialize_with = "whole")]
        default tools_total: u64;
        /// The number of calls in work.
        #[serde(deserialize_with = "whole")]
        default pending_requests: u64;
        /// The resources that the server uses; the server chooses the members.
        default resources: Object;
        /// The checks that the server made; the server chooses the members.
        default checks: Object;
    }

    /// The parameters of `mgp/lifecycle/shutdown`.
    pub struct Shutdown: Eq {
        /// The reason of the shutdown.
        required reason: ShutdownReason;
        /// The time in milliseconds that calls have to finish.
        #[serde(default = "usual_timeout_ms", deserialize_with = "whole")]
        plain timeout_ms: u64 = usual_timeout_ms();
    }

    /// The result of `mgp/lifecycle/shutdown`.
    pub struct ShutdownAnswer: Eq {
        /// True if the server stops.
        plain accepted: bool;
        /// The number of calls in work.
        #[serde(deserialize_with = "whole")]
        default pending_requests: u64;
        /// The time in milliseconds that these calls will take, as far as the server can tell.
        #[serde(deserialize_with = "whole")]
        default estimated_drain_ms: u64;
    }

    /// The parameters of `notifications/mgp.lifecycle`: a server went from one state to another.
    pub struct LifecycleChange: Eq {
        /// The id of the server.
        required server_id: ServerId;
        /// The state before the change.
        required previous_state: ServerState;
        /// The state after the change.
        required new_state: ServerState;
        /// The reason: a reason for a shutdown, or other words.
        optional reason: String => into with_reason;
        /// The time of the change.
        required timestamp: Timestamp;
    }
}

impl Shutdown {
    /// Sets the time in milliseconds that calls have to finish.
    pub const fn with_timeout_ms(mut self, timeout_ms: u64) -> Self {
        self.timeout_ms = timeout_ms;
        self
    }
}

const fn usual_timeout_ms() -> u64 {
    30_000
}

impl ShutdownAnswer {
    /// Creates the answer of a server that stops once `pending_requests` are done.
    pub const fn accepted(pending_requests: u64, estimated_drain_ms: u64) -> Self {
        Self { accepted: true, pending_requests, estimated_drain_ms }
    }

    /// Creates the answer of a server that does not stop.
    pub const fn refused(pending_requests: u64) -> Self {
        Self { accepted: false, pending_requests, estimated_drain_ms: 0 }
    }
}

/// Reads a number that is not negative, without its fraction: many programs measure time in `3600.25`.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = without_fraction(f64::deserialize(deserializer)?);
    number.ok_or_else(|| serde::de::Error::custom("a number must not be negative"))
}
