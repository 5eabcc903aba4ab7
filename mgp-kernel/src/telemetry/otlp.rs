//! The traces of the kernel, sent to an OTLP collector.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use mgp_discovery::config::ProcessEnvironment;
use mgp_discovery::config::model::TelemetrySettings;
use mgp_types::BoxFuture;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::registry::LookupSpan;

use crate::StartError;

/// The traces of this process, on their way to a collector.
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Begins to send, if a collector is named. Does not check that it can be reached.
    ///
    /// # Errors
    /// Fails if the settings of the collector cannot be used.
    pub(super) fn open(settings: &TelemetrySettings) -> Result<Option<Self>, StartError> {
        let Some(collector) = &settings.otlp else { return Ok(None) };
        let headers = settings.expanded_otlp_headers(&ProcessEnvironment).map_err(wrong)?;
        let headers: HashMap<String, String> =
            headers.into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect();
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(RuntimeHttpClient::new()?)
            .with_endpoint(endpoint(collector))
            .with_timeout(TIMEOUT)
            .with_headers(headers)
            .build()
            .map_err(wrong)?;
        let resource = Resource::builder().with_service_name("mgp").build();
        Ok(Some(Self(
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build(),
        )))
    }

    /// Returns the layer that takes the spans of requests, whatever is logged.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        let spans = tracing_opentelemetry::layer().with_tracer(self.0.tracer("mgp")).with_location(false);
        spans.with_filter(Targets::new().with_target("mgp_transport::trace", Level::INFO))
    }

    /// Sends what is left, and ends the thread that sends.
    pub(super) async fn end(self) {
        // Shutting down waits for requests that this runtime makes.
        let ended = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(TIMEOUT)).await;
        if let Ok(Err(error)) = ended {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

mgp_types::partial_debug!(Traces);

fn wrong(what: impl fmt::Display) -> StartError {
    StartError::Config(format!("`telemetry.otlp`: {what}"))
}

/// Returns the address of the collector, which may be given with the path of traces or without any.
fn endpoint(collector: &str) -> String {
    let path = collector.split_once("://").and_then(|(_, rest)| rest.split_once('/'));
    if path.is_some_and(|(_, path)| !path.is_empty()) {
        return collector.to_owned();
    }
    format!("{}/v1/traces", collector.trim_end_matches('/'))
}

/// An HTTP client that is called on a thread outside of the runtime, and sends on the runtime.
#[derive(Clone)]
struct RuntimeHttpClient {
    runtime: Handle,
    client: HyperClient<HttpsConnector<HttpConnector>>,
}

impl RuntimeHttpClient {
    fn new() -> Result<Self, StartError> {
        let runtime = Handle::try_current().map_err(|_| wrong("traces are sent by a tokio runtime only"))?;
        // The provider is named and not left to the default of the process: that one panics where a program has built
        // in two.
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|_| wrong("TLS is not available"))?
            .with_webpki_roots()
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        Ok(Self { runtime, client: HyperClient::new(connector, TIMEOUT, None) })
    }
}

mgp_types::partial_debug!(RuntimeHttpClient);

impl HttpClient for RuntimeHttpClient {
    fn send_bytes<'a, 'sending>(
        &'a self,
        request: Request<Bytes>,
    ) -> BoxFuture<'sending, Result<Response<Bytes>, HttpError>>
    where
        'a: 'sending,
        Self: 'sending,
    {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { client.send_bytes(request).await });
        Box::pin(async move { sent.await? })
    }
}

const TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::endpoint;

    #[test]
    fn a_collector_may_be_named_without_the_path_of_traces() {
        for bare in ["http://localhost:4318", "http://localhost:4318/"] {
            assert_eq!(endpoint(bare), "http://localhost:4318/v1/traces");
        }
        assert_eq!(endpoint("https://a.example/otlp/v1/traces"), "https://a.example/otlp/v1/traces");
    }
}
