//! The documents that the provider publishes.

use http::StatusCode;
use serde_json::json;

use super::exchange::{self, Answer};
use super::fault::{Endpoint, Fault};
use super::{State, grants};

/// Answers with the metadata: one document for both standards.
pub(super) fn metadata(state: &State) -> Answer {
    let settings = state.settings.lock().clone();
    let mut document = json!({
        "issuer": state.issuer(),
        "authorization_endpoint": state.url(Endpoint::Authorize),
        "token_endpoint": state.url(Endpoint::Token),
        "jwks_uri": state.url(Endpoint::Jwks),
        "introspection_endpoint": state.url(Endpoint::Introspect),
        "device_authorization_endpoint": state.url(Endpoint::Device),
        "response_types_supported": ["code"],
        "grant_types_supported": grants::ALL,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported":
            ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256", "EdDSA", "RS256"],
        "id_token_signing_alg_values_supported": ["ES256", "EdDSA", "RS256"],
        "subject_types_supported": ["public"],
        "scopes_supported": settings.scopes,
        "dpop_signing_alg_values_supported": ["ES256", "EdDSA", "RS256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": settings.has_client_documents,
    });
    let members = document.as_object_mut().unwrap();
    if settings.has_registration {
        members.insert("registration_endpoint".into(), json!(state.url(Endpoint::Register)));
    }
    for fault in state.faults.lock().iter() {
        match fault {
            Fault::WrongIssuer(issuer) => drop(members.insert("issuer".into(), json!(issuer))),
            Fault::NoPkce => drop(members.remove("code_challenge_methods_supported")),
            Fault::Moved(endpoint, url) => {
                let own = json!(state.url(*endpoint));
                members.values_mut().filter(|value| **value == own).for_each(|value| *value = json!(url));
            }
            _ => {}
        }
    }
    exchange::json(StatusCode::OK, &document)
}

/// Answers with the document of a client that describes itself by its URL.
pub(super) fn client(state: &State) -> Answer {
    let document = json!({
        "client_id": state.url(Endpoint::ClientDocument),
        "client_name": "client that describes itself",
        "redirect_uris": ["http://127.0.0.1/callback", "http://localhost/callback"],
        "token_endpoint_auth_method": "none",
    });
    exchange::json(StatusCode::OK, &document)
}
