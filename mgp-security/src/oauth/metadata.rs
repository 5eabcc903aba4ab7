//! The document that tells clients who issues the tokens of a resource (RFC 9728).

use serde::Serialize;

use super::builder::DpopPolicy;
use super::resource_server::ResourceServerParts;
use crate::jose::{Algorithm, dpop};

/// The metadata of a protected resource.
#[derive(Serialize)]
pub(super) struct ResourceMetadata<'a> {
    resource: &'a str,
    authorization_servers: Vec<&'a str>,
    /// Clients that know of no scopes ask for none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<&'a str>,
    bearer_methods_supported: [&'static str; 1],
    dpop_signing_alg_values_supported: &'static [Algorithm],
    dpop_bound_access_tokens_required: bool,
}

impl<'a> ResourceMetadata<'a> {
    pub(super) fn of(server: &'a ResourceServerParts) -> Self {
        Self {
            resource: &server.resource,
            authorization_servers: server.issuers.iter().map(|issuer| &*issuer.of.name).collect(),
            scopes_supported: server.required.iter().collect(),
            bearer_methods_supported: ["header"],
            dpop_signing_alg_values_supported: dpop::algorithms(),
            dpop_bound_access_tokens_required: server.dpop == DpopPolicy::Required,
        }
    }
}
