//! The offer of MGP that a side declares among its capabilities (§2.2, §2.3), and what two sides agree on (§2.4).

use thiserror::Error;

use super::members::leftover;
use super::{Extension, ExtensionSet, TrustLevel, Version};
use crate::json::ObjectWriter;
use crate::macros::setter;
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
    pub version: Version,
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
    /// Creates an offer of these extensions in [this crate's version](Version::OURS).
    pub fn new(extensions: impl Into<ExtensionSet>) -> Self {
        Self {
            version: Version::OURS,
            extensions: extensions.into(),
            permissions_required: Vec::new(),
            server_id: None,
            trust_level: None,
            unknown: Object::new(),
        }
    }

    crate::setters! { #[must_use] self =>
        /// Sets the version.
        pub fn with_version(version: Version) => self.version = version;

        /// Sets the permissions that the server needs.
        pub fn with_permissions_required(permissions: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.permissions_required = permissions.into_iter().map(Into::into).collect();
    }

    setter!(server_id: Box<str> => into with_server_id);
    setter!(trust_level: TrustLevel => with_trust_level);

    /// Reads the offer among `capabilities`; returns `None` if there is none, as with a peer of plain MCP.
    ///
    /// The search looks at `extensions`, then at `mgp`, then at `experimental`, and the first well-formed offer counts: each
    /// place holds a copy of the same offer, so a broken copy takes nothing away from the next.
    ///
    /// # Errors
    /// All offers among the capabilities are malformed. The caller logs the error and goes on as without an offer; it
    /// is never a reason to refuse the peer. The error is about the first of them.
    pub fn read(capabilities: &Object) -> Result<Option<Self>, OfferError> {
        let mut error = None;
        for place in PLACES {
            let found = capabilities.at(place.iter().copied()).filter(|offer| !offer.is_null());
            match found.map(|raw| Self::from_raw(&raw)) {
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
    fn from_raw(raw: &RawJson) -> Result<Self, &'static str> {
        const NO_VERSION: &str = "no semantic version in `version`";
        let object = Object::from_raw(raw).map_err(|_| "not an object")?;
        let version = object.text("version").ok_or(NO_VERSION)?;
        let present = |name| object.get(name).filter(|value| !value.is_null());
        let permissions_required = match present("permissions_required") {
            Some(list) => list.to().map_err(|_| "no list of names in `permissions_required`")?,
            None => Vec::new(),
        };
        let extensions = object.get("extensions").and_then(|list| list.to().ok());
        Ok(Self {
            version: version.parse().map_err(|_| NO_VERSION)?,
            extensions: extensions.ok_or("no list of names in `extensions`")?,
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
        out.value("extensions", &self.extensions);
        let permissions = Some(&self.permissions_required).filter(|permissions| !permissions.is_empty());
        out.optional("permissions_required", permissions);
        out.optional("server_id", self.server_id.as_ref());
        out.optional("trust_level", self.trust_level.as_ref());
        out.others(&self.unknown, &KNOWN);
        out.finish().to_raw()
    }

    /// Puts the offer among `capabilities`, in every place where a peer of this `form` may look for it.
    ///
    /// The other members of `capabilities`, `extensions` and `experimental` stay.
    pub fn write(&self, capabilities: &mut Object, form: CapabilityMessage) {
        let offer = self.to_raw();
        for place in form.places() {
            match **place {
                // A member that is no object holds no offer and is replaced.
                [around, name] => capabilities.object_mut_or_new(around).set(name, offer.clone()),
                _ => capabilities.set(place.concat(), offer.clone()),
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

/// The agreement of two sides: made once per session, or with each stateless request.
///
/// Both sides compute the agreement from the two offers. A server's answer is intersected again, because some servers
/// list all their extensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiated {
    version: Version,
    extensions: ExtensionSet,
    peer: Offer,
}

impl Negotiated {
    /// Returns the common part of `ours` and `theirs`; `None` when the major versions differ, so that the connection is
    /// a plain MCP one.
    ///
    /// An empty set of extensions is an agreement too: error handling applies wherever MGP is spoken.
    pub fn agree(ours: &Offer, theirs: &Offer) -> Option<Self> {
        ours.version.is_compatible_with(theirs.version).then(|| Self {
            version: ours.version.min(theirs.version),
            extensions: ours.extensions.intersection(&theirs.extensions),
            peer: theirs.clone(),
        })
    }

    /// Returns whether both sides have everything that `extension` stands for.
    pub fn has(&self, extension: &Extension) -> bool {
        matches!(extension, Extension::ErrorHandling) || self.extensions.contains(extension)
    }

    /// Returns the lower of the two versions, which both understand.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Returns the extensions of both sides, in the peer's names.
    pub const fn extensions(&self) -> &ExtensionSet {
        &self.extensions
    }

    /// Returns the peer's offer.
    pub const fn peer(&self) -> &Offer {
        &self.peer
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
    const fn places(self) -> &'static [OfferPlace] {
        match self {
            Self::SessionRequest => &PLACES,
            Self::SessionResult => PLACES.split_at(2).0,
            Self::Stateless => PLACES.split_at(1).0,
        }
    }
}

/// A place where an offer can stand among the capabilities: the member around it, if any, and its own.
type OfferPlace = &'static [&'static str];

/// The places in the order of the search.
const PLACES: [OfferPlace; 3] =
    [&["extensions", EXTENSION_ID], &[LEGACY_MEMBER], &["experimental", LEGACY_MEMBER]];

fn shown(place: OfferPlace) -> String {
    match place {
        [around, name] => format!("{around}[\"{name}\"]"),
        _ => place.concat(),
    }
}

/// The error of a peer's offer that cannot be understood. The peer is treated as one without an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("malformed offer in {}: {fault}", shown(place))]
pub struct OfferError {
    place: OfferPlace,
    fault: &'static str,
}

#[cfg(test)]
mod tests;
