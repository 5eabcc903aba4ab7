//! The addresses from which the data of a server may come.

use std::sync::Arc;

use http::Uri;
use mgp_discovery::Config;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::reference::{ReferenceImporter, ReferenceSource};
use mgp_types::Error;

use crate::settings;

/// Returns an importer of the data of one server: from the origins that its configuration names, and from the one that it
/// is reached at itself. Private addresses are refused unless the configuration of the server opens them.
pub(super) fn importer(
    config: &Config,
    server: &ServerConfig,
    source: Arc<dyn ReferenceSource>,
) -> Result<ReferenceImporter, Error> {
    let wrong = |why: String| Error::internal(format!("data of `{}` cannot be fetched: {why}", server.id));
    let mut policy = settings::network_policy(config, server).map_err(|error| wrong(error.to_string()))?;
    let own = server.url.as_deref().and_then(own_origin);
    if let Some(OwnOrigin { host, .. }) = &own
        && let Ok(host) = host.parse()
    {
        policy = policy.allow_host(host);
    }
    let mut importer = ReferenceImporter::new(source).with_policy(policy);
    let configured = server.network.data_origins.iter().cloned();
    for origin in configured.chain(own.map(|own| own.origin)) {
        importer = importer
            .with_origin(server.id.as_str(), &origin)
            .map_err(|error| wrong(format!("`servers.network.data_origins`: {origin:?}: {error}")))?;
    }
    Ok(importer)
}

/// The origin at which a server is reached.
struct OwnOrigin {
    origin: String,
    /// The host and port.
    host: String,
}

fn own_origin(url: &str) -> Option<OwnOrigin> {
    let uri: Uri = url.parse().ok()?;
    let (scheme, host) = (uri.scheme_str()?, uri.host()?);
    let port = uri.port_u16().unwrap_or(if scheme == "https" { 443 } else { 80 });
    Some(OwnOrigin { origin: format!("{scheme}://{host}:{port}"), host: format!("{host}:{port}") })
}
