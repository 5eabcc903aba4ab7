//! Peers that mean no good, and settings that nobody should choose.

use mgp_types::{Origin, RawJson};

use super::*;

/// An error with advice as a peer may write it.
fn advising(code: i64, advice: &str) -> Error {
    let data = RawJson::parse(format!(r#"{{"_mgp":{advice}}}"#)).unwrap();
    Error::from_origin(Origin::Peer, code, "no").with_data(data)
}

// covers: MGP-14.6-01, MGP-14.6-03
#[tokio::test(start_paused = true)]
async fn no_advice_makes_a_call_wait_or_repeat_without_end() {
    for (advice, calls, most) in [
        (r#"{"retryable":true,"retry_after_ms":18446744073709551615}"#, 1, 0),
        (r#"{"retryable":true,"retry_after_ms":1e300}"#, 1, 0),
        (
            r#"{"retryable":true,"retry_after_ms":0,"max_retries":4294967295,"retry_strategy":"immediate"}"#,
            6,
            0,
        ),
        (r#"{"retryable":true,"retry_after_ms":-1,"max_retries":1e300}"#, 6, 5000),
        (r#"{"retryable":true,"retry_after_ms":"5","max_retries":-7}"#, 3, 1000),
        (r#"{"retryable":true,"retry_after_ms":1e-300,"max_retries":0.9}"#, 1, 0),
        (r#"{"retryable":true,"retry_after_ms":null,"max_retries":[],"retry_strategy":{}}"#, 3, 1000),
        (r#"{"retryable":1,"max_retries":5}"#, 1, 0),
        (r"[true]", 1, 0),
    ] {
        let server = Upstream::failing(&advising(3000, advice));
        let began = Instant::now();
        let error = SendingLayer::new()
            .retry(RetryPolicy::default())
            .layer(server.clone())
            .call(tool_call())
            .await
            .unwrap_err();
        assert_eq!((error.code(), server.calls()), (3000, calls), "{advice}");
        assert!(began.elapsed() <= millis(most + 1), "{advice}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn no_setting_is_too_large() {
    let mut policy = RetryPolicy::default();
    (policy.base_delay, policy.max_delay) = (Duration::MAX, Duration::MAX);
    (policy.max_retries, policy.usual_retries) = (u32::MAX, u32::MAX);
    let server = Upstream::failing(&advising(3000, r#"{"retryable":true}"#));
    let mut service =
        SendingLayer::new().retry(policy).retry_budget(RetryBudget::new(u32::MAX, u32::MAX)).layer(server);
    let years = tokio::time::timeout(Duration::MAX, service.call(tool_call()));
    assert!(
        tokio::time::timeout(Duration::from_hours(24), years).await.is_err(),
        "it waits, and does not panic"
    );

    let mut settings = BreakerSettings::default();
    (settings.window, settings.open_for, settings.max_open) = (Duration::MAX, Duration::MAX, Duration::MAX);
    settings.failure_percent = u32::MAX;
    let breaker = SharedBreaker::new(settings);
    let layer = SendingLayer::new().breaker(breaker.clone());
    let gone = Upstream::failing(&Error::disconnected("gone"));
    for _ in 0..25 {
        let _ = layer.layer(gone.clone()).call(tool_call()).await;
    }
    assert_eq!(breaker.state(), BreakerState::Open);
    let refused = layer.layer(gone).call(tool_call()).await.unwrap_err();
    assert_eq!(refused.recovery().unwrap().retry_after_ms, Some(u64::MAX));

    let line = ConcurrencyLimit::with_line(NonZeroUsize::MAX, usize::MAX, Duration::MAX);
    let attempt = SendingLayer::new().attempt_timeout(Duration::MAX, Duration::ZERO);
    let mut service = SendingLayer::new()
        .deadline(Duration::MAX)
        .layer(SendingLayer::new().places(line).layer(attempt.layer(Upstream::after(millis(1)))));
    let mut request = tool_call();
    request.params.set("_mgp", RawJson::parse(r#"{"deadline_ms":18446744073709551615}"#).unwrap());
    assert!(service.call(request).await.is_ok());
}

// covers: MGP-14.6-04
#[tokio::test(start_paused = true)]
async fn no_server_leads_its_callers_to_itself_or_to_what_is_reserved() {
    for name in [
        "search",
        "",
        "rm -rf",
        "näme",
        "a\nb",
        &"a".repeat(129),
        "mgp.access.grant",
        "MGP.access.grant",
        "mgp",
        "mgp/access/grant",
        "mgp_access_grant",
        "mgp-access-grant",
        "mgpAccessGrant",
        "_mgp.access.grant",
        "./mgp.access.grant",
        "m\u{261}p.access.grant",
        "mgp\u{200b}.access.grant",
        "ｍｇｐ.access.grant",
        "local\u{0}",
        "local ",
        "..",
    ] {
        let mut advice = Recovery::default().with_retryable(true).with_max_retries(0);
        advice.fallback_tool = Some(name.into());
        let server = Upstream::failing(&peer_error(5002, advice));
        // The name of the tool itself, as JSON may write it.
        let params = Object::parse(r#"{"name":"se\u0061rch"}"#).unwrap();
        let request = Request::call("tools/call", params);
        assert!(FallbackLayer::new().layer(server.clone()).call(request).await.is_err());
        assert_eq!(server.calls(), 1, "{name:?}");
    }
    for name in ["mgproxy", "local", "local.mgp", "web__search"] {
        let error = peer_error(5002, Recovery::default().with_retryable(true).with_fallback_tool(name));
        let server = Upstream::failing(&error);
        let _ = FallbackLayer::new().layer(server.clone()).call(tool_call()).await;
        assert_eq!(server.calls(), 2, "{name:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_gateway_cannot_be_led_to_what_is_reserved_either() {
    let error = peer_error(5002, Recovery::default().with_retryable(true).with_fallback_tool("mgp.x"));
    let server = Upstream::failing(&error);
    for known in ["web__mgp.x", "mgp.x"] {
        let layer = FallbackLayer::new().known_as(move |_, _| Some(known.into()));
        assert!(layer.layer(server.clone()).call(tool_call()).await.is_err());
    }
    assert_eq!(server.calls(), 2);
}

#[tokio::test(start_paused = true)]
async fn probes_that_never_end_do_not_keep_a_server_from_its_callers() {
    let server = Upstream::working(|number, _| async move {
        match number {
            0..20 => Err(Error::disconnected("gone")),
            20..23 => std::future::pending().await,
            _ => Ok(Response::empty()),
        }
    });
    let breaker = SharedBreaker::new(BreakerSettings::default());
    let layer = SendingLayer::new().breaker(breaker.clone());
    for _ in 0..20 {
        let _ = layer.layer(server.clone()).call(tool_call()).await;
    }
    sleep(Duration::from_secs(2)).await;
    let stuck: Vec<_> = (0..3).map(|_| tokio::spawn(layer.layer(server.clone()).call(tool_call()))).collect();
    sleep(millis(1)).await;
    assert_eq!(layer.layer(server.clone()).call(tool_call()).await.unwrap_err().code(), 5002);
    sleep(Duration::from_mins(1)).await;
    for _ in 0..3 {
        assert!(layer.layer(server.clone()).call(tool_call()).await.is_ok(), "others are let try");
    }
    assert_eq!(breaker.state(), BreakerState::Closed);
    for call in stuck {
        call.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_always_names_a_time_to_wait() {
    let settings = BreakerSettings { open_for: Duration::ZERO, ..BreakerSettings::default() };
    let layer = SendingLayer::new().breaker(SharedBreaker::new(settings));
    let gone = Upstream::failing(&Error::disconnected("gone"));
    for _ in 0..20 {
        let _ = layer.layer(gone.clone()).call(tool_call()).await;
    }
    let hangs = Upstream::after(Duration::from_hours(1));
    let probes: Vec<_> = (0..3).map(|_| tokio::spawn(layer.layer(hangs.clone()).call(tool_call()))).collect();
    sleep(millis(1)).await;
    let refused = layer.layer(hangs.clone()).call(tool_call()).await.unwrap_err();
    assert!(refused.recovery().unwrap().retry_after_ms > Some(0), "or callers would spin");
    for probe in probes {
        probe.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_waiting_calls_can_be_dropped_at_once() {
    let server = Upstream::after(Duration::from_hours(1));
    let line = ConcurrencyLimit::with_line(NonZeroUsize::MIN, 10_000, Duration::from_hours(1));
    let line = SendingLayer::new().places(line);
    let calls: Vec<_> =
        (0..10_000).map(|_| tokio::spawn(line.layer(server.clone()).call(tool_call()))).collect();
    sleep(millis(1)).await;
    assert_eq!(server.running(), 1);
    for call in calls {
        call.abort();
    }
    sleep(millis(1)).await;
    assert_eq!(server.running(), 0);
    assert!(line.layer(Upstream::after(millis(1))).call(tool_call()).await.is_ok());
}
