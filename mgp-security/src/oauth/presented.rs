//! The token that a request shows.

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, Method, Uri};
use mgp_types::PeerCertificate;

use super::TokenError;

/// The token of a request, with what proves that its sender may use it.
pub(crate) struct PresentedToken {
    /// The token as its sender showed it; it may be an API key.
    pub(crate) token: Box<str>,
    pub(crate) scheme: TokenScheme,
    /// The proof of possession, if there is one.
    pub(super) proof: Option<Box<str>>,
    pub(super) method: Method,
    /// The path of the request.
    pub(super) path: Box<str>,
    pub(super) certificate: Option<PeerCertificate>,
}

/// The scheme of `Authorization`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenScheme {
    Bearer,
    Dpop,
}

/// Returns the scheme and the credential of `Authorization`; `None` without that header.
///
/// # Errors
/// The header is malformed, or there are several.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<Option<(&str, &str)>, TokenError> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.to_str().ok().filter(|_| values.next().is_none());
    let (scheme, credential) = text.and_then(|text| text.split_once(' ')).ok_or(TokenError::Malformed)?;
    Ok(Some((scheme, credential.trim_matches(' '))))
}

impl PresentedToken {
    /// Reads the token of an HTTP request.
    pub(crate) fn read(
        headers: &HeaderMap,
        method: &Method,
        uri: &Uri,
        certificate: Option<&PeerCertificate>,
    ) -> Result<Self, TokenError> {
        let (scheme, token) = authorization(headers)?.ok_or(TokenError::Missing)?;
        let scheme = if scheme.eq_ignore_ascii_case("bearer") {
            TokenScheme::Bearer
        } else if scheme.eq_ignore_ascii_case("dpop") {
            TokenScheme::Dpop
        } else {
            return Err(TokenError::Missing);
        };
        if token.is_empty()
            || token.len() > MAX_TOKEN_BYTES
            || !token.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(TokenError::Malformed);
        }
        let mut proofs = headers.get_all(DPOP).iter();
        let proof = match (proofs.next(), proofs.next()) {
            (Some(proof), None) => Some(proof.to_str().map_err(|_| TokenError::Proof)?.into()),
            (None, _) => None,
            (Some(_), Some(_)) => return Err(TokenError::Proof),
        };
        Ok(Self {
            token: token.into(),
            scheme,
            proof,
            method: method.clone(),
            path: uri.path().into(),
            certificate: certificate.copied(),
        })
    }
}

mgp_types::partial_debug!(PresentedToken, self => scheme: self.scheme, path: self.path);

/// The header of proofs.
pub(crate) const DPOP: HeaderName = HeaderName::from_static("dpop");
/// The longest token.
const MAX_TOKEN_BYTES: usize = 16 << 10;
