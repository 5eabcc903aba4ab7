use std::future::poll_fn;

use mgp_types::mgp::{Shutdown, ShutdownAnswer, method};
use mgp_types::{Error, Request, RpcService};

/// Asks a server to finish its calls and stop, by `mgp/lifecycle/shutdown` (§11.4).
///
/// # Errors
/// The server does not know the method, refuses, or is gone.
///
/// # Cancel safety
/// Dropping the future takes the request back; the server may stop all the same.
pub async fn ask_to_stop<S: RpcService>(mut service: S, shutdown: Shutdown) -> Result<ShutdownAnswer, Error> {
    let request = Request::with_body(method::LIFECYCLE_SHUTDOWN, &shutdown)?;
    poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await?.body()
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::ShutdownReason;
    use mgp_types::{RawJson, Response};

    use super::*;
    use crate::doubles::Upstream;

    // covers: MGP-11.4-01, MGP-11.4-03..04
    #[tokio::test]
    async fn the_server_is_asked_with_reason_and_time() {
        let service = Upstream::working(|_, request: Request| async move {
            assert_eq!(request.method.as_str(), "mgp/lifecycle/shutdown");
            let expected = br#"{"reason":"kernel_shutdown","timeout_ms":1500}"#;
            assert_eq!(request.params.to_raw().as_bytes(), expected);
            let answer = r#"{"accepted":true,"pending_requests":2,"estimated_drain_ms":50}"#;
            Ok(Response::new(RawJson::parse(answer).unwrap()))
        });
        let shutdown = Shutdown::new(ShutdownReason::KernelShutdown).with_timeout_ms(1500);
        assert_eq!(ask_to_stop(service, shutdown).await.unwrap(), ShutdownAnswer::accepted(2, 50));
    }
}
