//! The offer of MGP that a side declares among its capabilities (§2.2, §2.3).

use std::fmt;

use thiserror::Error;

use super::members::leftover;
use super::{ExtensionSet, MgpVersion, TrustLevel};
use crate::json::ObjectWriter;
use crate::{Object, RawJson};

/// The name of MGP among the extensions of MCP.
pub const EXTENSION_ID: &str = "dev.cloto/mgp";

/// The member of the capabilities in which the specification puts the offer.
pub const LEGACY_MEMBER: &str = "mgp";

/// The declaration of one side about MGP among its capabilities (§2.2, §2.3).
///
/// ```
/// use mgp_types::Object;
/// use mgp_types::mgp::{Extension, CapabilityMessage, Offer};
///
/// let mut capabilities = Object::parse(r#"{"roots":{}}"#)?;
/// let offer = Offer::new([Extension::Audit]);
/// offer.write(&mut capabilities, CapabilityMessage::Stateless);
/// assert_eq!(
///     capabilities.to_raw().as_bytes(),
///     br#"{"roots":{},"extensions":{"dev.cloto/mgp":{"version":"0.2.0","extensions":["audit"]}}}"#,
/// );
/// assert_eq!(Offer::read(&capabilities)?, Some(offer));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Offer {
    /// The version that this side speaks.
    pub version: MgpVersion,
    /// The extensions that this side supports.
    pub extensions: ExtensionSet,
    /// The permissions that a server needs to operate, in its own spelling; left out when empty.
    pub permissions_required: Vec<Box<str>>,
    /// The name that a server gives itself. The name is a claim and no identity.
    pub server_id: Option<Box<str>>,
    /// The trust that a server asks for.
    pub trust_level: Option<TrustLevel>,
    /// The members that this version does not know, in order.
    pub unknown: Object,
}

const KNOWN: [&str; 5] = ["version", "extensions", "permissions_required", "server_id", "trust_level"];

impl Offer {
    /// Creates an offer of these extensions in [this crate's version](MgpVersion::OURS).
    pub fn new(extensions: impl Into<ExtensionSet>) -> Self {
        Self {
            version: MgpVersion::OURS,
            extensions: extensions.into(),
            permissions_required: Vec::new(),
            server_id: None,
            trust_level: None,
            unknown: Object::new(),
        }
    }

    /// Sets the version.
    #[must_use]
    pub fn with_version(mut self, version: MgpVersion) -> Self {
        self.version = version;
        self
    }

    /// Sets the permissions that the server needs.
    #[must_use]
    pub fn with_permissions_required<I>(mut self, permissions: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Box<str>>,
    {
        self.permissions_required = permissions.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the name that the server gives itself.
    #[must_use]
    pub fn with_server_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.server_id = Some(id.into());
        self
    }

    /// Sets the trust that the server asks for.
    #[must_use]
    pub fn with_trust_level(mut self, level: TrustLevel) -> Self {
        self.trust_level = Some(level);
        self
    }

    /// Reads the offer among `capabilities`; returns `None` if there is none, as with a peer of plain MCP.
    ///
    /// The search follows the order of [`OfferPlace`], and the first well-formed offer counts: each place holds a copy of
    /// the same offer, so a broken copy takes nothing away from the next.
    ///
    /// # Errors
    /// All offers among the capabilities are malformed. The caller logs the error and goes on as without an offer; it
    /// is never a reason to refuse the peer. The error is about the first of them.
    pub fn read(capabilities: &Object) -> Result<Option<Self>, OfferError> {
        let mut error = None;
        for place in OfferPlace::ALL {
            match place.find(capabilities).map(|raw| Self::from_raw(&raw)) {
                Some(Ok(offer)) => return Ok(Some(offer)),
                Some(Err(fault)) => _ = error.get_or_insert(OfferError { place, fault }),
                None => {}
            }
        }
        error.map_or(Ok(None), Err)
    }

    /// Reads the offer in `raw`.
    ///
    /// # Errors
    /// `raw` is no object, lacks `version` or `extensions`, or has a wrong type in one of them or in
    /// `permissions_required`, because a needed permission must not be overlooked. A `server_id` of another type is
    /// left out, and an unknown `trust_level` gives no trust.
    pub fn from_raw(raw: &RawJson) -> Result<Self, OfferFault> {
        let object = Object::from_raw(raw).map_err(|_| OfferFault::NotAnObject)?;
        let version = object.text("version").ok_or(OfferFault::Version)?;
        let present = |name| object.get(name).filter(|value| !value.is_null());
        let permissions_required = match present("permissions_required") {
            Some(list) => list.to().map_err(|_| OfferFault::PermissionsRequired)?,
            None => Vec::new(),
        };
        Ok(Self {
            version: version.parse().map_err(|_| OfferFault::Version)?,
            extensions: object
                .get("extensions")
                .and_then(|list| list.to().ok())
                .ok_or(OfferFault::Extensions)?,
            permissions_required,
            server_id: object.text("server_id").map(Into::into),
            trust_level: present("trust_level")
                .map(|level| level.to_text().map_or(TrustLevel::Sandboxed, |word| TrustLevel::read(&word))),
            unknown: leftover(&object, &KNOWN),
        })
    }

    /// Returns the offer as JSON.
    pub fn to_raw(&self) -> RawJson {
        let mut out = ObjectWriter::new();
        out.text("version", &self.version.to_string());
        out.texts("extensions", self.extensions.names());
        if !self.permissions_required.is_empty() {
            out.texts(
                "permissions_required",
                self.permissions_required.iter().map(|permission| &**permission),
            );
        }
        if let Some(id) = &self.server_id {
            out.text("server_id", id);
        }
        if let Some(level) = self.trust_level {
            out.text("trust_level", level.as_str());
        }
        out.others(&self.unknown, &KNOWN);
        out.finish().to_raw()
    }

    /// Puts the offer among `capabilities`, in every place where a peer of this `form` may look for it.
    ///
    /// The other members of `capabilities`, `extensions` and `experimental` stay.
    pub fn write(&self, capabilities: &mut Object, form: CapabilityMessage) {
        let offer = self.to_raw();
        for place in OfferPlace::ALL {
            if form.includes(place) {
                place.put(capabilities, offer.clone());
            }
        }
    }

    /// Returns the offer that a server with this offer puts into its session result, for a client that offered
    /// `theirs`; `None` when the major versions differ, so that the connection is a plain MCP one.
    ///
    /// The extensions are those that both sides have, in the client's spelling. A server that got no offer sends none.
    //= mgp §2.4
    //# If the client did not include mgp in its request, the server MUST NOT include mgp in its response
    pub fn answer(&self, theirs: &Self) -> Option<Self> {
        self.version
            .is_compatible_with(theirs.version)
            .then(|| Self { extensions: self.extensions.intersection(&theirs.extensions), ..self.clone() })
    }
}

/// The message that the capabilities are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapabilityMessage {
    /// The `initialize` request: the offer stands in all places, because servers differ in which they keep.
    SessionRequest,
    /// The `initialize` result: the offer stands in the extension and in the specification's own member.
    SessionResult,
    /// A request's `_meta`, or the result of `server/discover`: the offer stands in the extension only.
    Stateless,
}

impl CapabilityMessage {
    const fn includes(self, place: OfferPlace) -> bool {
        match place {
            OfferPlace::Extensions => true,
            OfferPlace::Legacy => matches!(self, Self::SessionRequest | Self::SessionResult),
            OfferPlace::Experimental => matches!(self, Self::SessionRequest),
        }
    }
}

/// The places where an offer can stand among the capabilities, in the order of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OfferPlace {
    /// `extensions["dev.cloto/mgp"]`.
    Extensions,
    /// `mgp`.
    Legacy,
    /// `experimental.mgp`.
    Experimental,
}

impl OfferPlace {
    const ALL: [Self; 3] = [Self::Extensions, Self::Legacy, Self::Experimental];

    /// Returns the member around the offer, if any, and the offer's own.
    const fn path(self) -> (Option<&'static str>, &'static str) {
        match self {
            Self::Extensions => (Some("extensions"), EXTENSION_ID),
            Self::Legacy => (None, LEGACY_MEMBER),
            Self::Experimental => (Some("experimental"), LEGACY_MEMBER),
        }
    }

    fn find(self, capabilities: &Object) -> Option<RawJson> {
        let (around, name) = self.path();
        let offer = match around {
            Some(around) => Object::from_raw(&capabilities.get(around)?).ok()?.get(name),
            None => capabilities.get(name),
        };
        offer.filter(|offer| !offer.is_null())
    }

    fn put(self, capabilities: &mut Object, offer: RawJson) {
        let (around, name) = self.path();
        let Some(around) = around else { return capabilities.set(name, offer) };
        // A member that is no object holds no offer and is replaced.
        let inside = capabilities.object(around);
        let mut inside = inside.unwrap_or_default();
        inside.set(name, offer);
        capabilities.set(around, inside.to_raw());
    }
}

impl fmt::Display for OfferPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (around, name) = self.path();
        match around {
            Some(around) => write!(f, "{around}[\"{name}\"]"),
            None => f.write_str(name),
        }
    }
}

/// The error of a peer's offer that cannot be understood. The peer is treated as one without an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("malformed offer in {place}")]
#[non_exhaustive]
pub struct OfferError {
    /// The place of the offer.
    pub place: OfferPlace,
    /// The fault of the offer.
    #[source]
    pub fault: OfferFault,
}

/// The faults of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OfferFault {
    /// The offer is not an object.
    #[error("not an object")]
    NotAnObject,
    /// The version is missing or no semantic version.
    #[error("no semantic version in `version`")]
    Version,
    /// The extensions are missing or not a list of names.
    #[error("no list of names in `extensions`")]
    Extensions,
    /// The permissions are not a list of names.
    #[error("no list of names in `permissions_required`")]
    PermissionsRequired,
}

#[cfg(test)]
mod tests;
