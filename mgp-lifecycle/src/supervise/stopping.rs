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

    // covers: MGP-11.4-01, MGP-11.4-03..04, MGP-11.4-08..12
    #[tokio::test]
    async fn the_server_is_asked_with_reason_and_time() {
        let words =
            ["operator_request", "configuration_change", "resource_limit", "idle_timeout", "kernel_shutdown"];
        assert_eq!(ShutdownReason::ALL.len(), words.len());
        for (&reason, word) in ShutdownReason::ALL.iter().zip(words) {
            let answer = r#"{"accepted":true,"pending_requests":2,"estimated_drain_ms":50}"#;
            let service = Upstream::answering(move |_| Ok(Response::new(RawJson::parse(answer).unwrap())));
            let shutdown = Shutdown::new(reason).with_timeout_ms(1500);
            let answer = ask_to_stop(service.clone(), shutdown).await.unwrap();
            assert_eq!(answer, ShutdownAnswer::accepted(2, 50));
            let asked = service.seen().remove(0);
            assert_eq!(asked.method.as_str(), "mgp/lifecycle/shutdown");
            let expected = format!(r#"{{"reason":"{word}","timeout_ms":1500}}"#);
            assert_eq!(asked.params.to_raw().as_bytes(), expected.as_bytes());
        }
    }
}
