use std::fmt;

use thiserror::Error;

use super::leftover::{leftover, write_leftover, write_member, write_text_member};
use super::{ExtensionSet, MgpVersion, TrustLevel};
use crate::json::write_string;
use crate::{Object, RawJson};

/// MGP's name among the extensions of MCP.
pub const EXTENSION_ID: &str = "dev.cloto/mgp";

/// The member in which the specification puts the offer, among the capabilities.
pub const LEGACY_MEMBER: &str = "mgp";

/// What one side declares about MGP among its capabilities (§2.2, §2.3).
///
/// ```
/// use mgp_types::Object;
/// use mgp_types::mgp::{Extension, Form, Offer};
///
/// let mut capabilities = Object::parse(r#"{"roots":{}}"#)?;
/// let offer = Offer::new([Extension::Audit]);
/// offer.write(&mut capabilities, Form::Stateless);
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
    /// What a server calls itself. It is a claim, not an identity.
    pub server_id: Option<Box<str>>,
    /// How far a server says it may be trusted.
    pub trust_level: Option<TrustLevel>,
    /// Members that are not known here, in order.
    pub unknown: Object,
}

impl Offer {
    /// An offer of these extensions in [our version](MgpVersion::OURS).
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

    /// The offer with another version.
    #[must_use]
    pub fn with_version(mut self, version: MgpVersion) -> Self {
        self.version = version;
        self
    }

    /// The offer of a server that needs these permissions.
    #[must_use]
    pub fn with_permissions_required<I>(mut self, permissions: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Box<str>>,
    {
        self.permissions_required = permissions.into_iter().map(Into::into).collect();
        self
    }

    /// The offer of a server that calls itself `id`.
    #[must_use]
    pub fn with_server_id(mut self, id: impl Into<Box<str>>) -> Self {
        self.server_id = Some(id.into());
        self
    }

    /// The offer of a server that says it may be trusted so far.
    #[must_use]
    pub fn with_trust_level(mut self, level: TrustLevel) -> Self {
        self.trust_level = Some(level);
        self
    }

    /// The offer among `capabilities`; `None` if there is none, and the peer is a plain MCP one.
    ///
    /// The places are those of [`Place`] in its order, and the first well-formed offer counts: each is a copy of
    /// the same offer, so a broken one takes nothing away from the next.
    ///
    /// # Errors
    /// There are offers, and all are malformed. This is to be logged and then treated as no offer; it is never a
    /// reason to refuse the peer. The error is about the first of them.
    pub fn read(capabilities: &Object) -> Result<Option<Self>, OfferError> {
        let mut error = None;
        for place in Place::ALL {
            match place.find(capabilities).map(|raw| Self::from_raw(&raw)) {
                Some(Ok(offer)) => return Ok(Some(offer)),
                Some(Err(fault)) => _ = error.get_or_insert(OfferError { place, fault }),
                None => {}
            }
        }
        error.map_or(Ok(None), Err)
    }

    /// The offer that `raw` is.
    ///
    /// # Errors
    /// `raw` is no object, lacks `version` or `extensions`, or has one of them or `permissions_required` in another
    /// shape: needing a permission must not be overlooked. A `server_id` that is no string is left out, a
    /// `trust_level` that is none gives no trust.
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

    /// The offer as JSON.
    pub fn to_raw(&self) -> RawJson {
        let mut out = vec![b'{'];
        write_text_member(&mut out, "version", &self.version.to_string());
        write_member(&mut out, "extensions", &list(self.extensions.names()));
        if !self.permissions_required.is_empty() {
            let permissions = self.permissions_required.iter().map(|permission| &**permission);
            write_member(&mut out, "permissions_required", &list(permissions));
        }
        if let Some(id) = &self.server_id {
            write_text_member(&mut out, "server_id", id);
        }
        if let Some(level) = self.trust_level {
            write_text_member(&mut out, "trust_level", level.as_str());
        }
        write_leftover(&mut out, &self.unknown, &KNOWN);
        out.push(b'}');
        RawJson::from_valid(out)
    }

    /// Puts the offer among `capabilities`, in every place where a peer of this `form` may look for it.
    ///
    /// What else is among `capabilities`, or beside the offer in `extensions` and `experimental`, stays.
    pub fn write(&self, capabilities: &mut Object, form: Form) {
        let offer = self.to_raw();
        for place in Place::ALL {
            if form.includes(place) {
                place.put(capabilities, offer.clone());
            }
        }
    }

    /// What a server with this offer puts into its session result, for a client that offered `theirs`; `None` when
    /// the major versions differ and the connection is a plain MCP one.
    ///
    /// The extensions are those that both have, in the client's spelling. Without an offer there is nothing to call
    /// this with, and nothing may be answered.
    //= mgp §2.4
    //# If the client did not include mgp in its request, the server MUST NOT include mgp in its response
    pub fn answer(&self, theirs: &Self) -> Option<Self> {
        self.version
            .is_compatible_with(theirs.version)
            .then(|| Self { extensions: self.extensions.intersection(&theirs.extensions), ..self.clone() })
    }
}

/// Which message the capabilities are part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// The `initialize` request: all places, for servers differ in which they keep.
    SessionRequest,
    /// The `initialize` result: the extension and the specification's own member.
    SessionResult,
    /// A request's `_meta`, or the result of `server/discover`: the extension only.
    Stateless,
}

impl Form {
    const fn includes(self, place: Place) -> bool {
        match place {
            Place::Extensions => true,
            Place::Legacy => matches!(self, Self::SessionRequest | Self::SessionResult),
            Place::Experimental => matches!(self, Self::SessionRequest),
        }
    }
}

/// Where an offer can stand among the capabilities, in the order in which it is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// `extensions["dev.cloto/mgp"]`.
    Extensions,
    /// `mgp`.
    Legacy,
    /// `experimental.mgp`.
    Experimental,
}

impl Place {
    const ALL: [Self; 3] = [Self::Extensions, Self::Legacy, Self::Experimental];

    /// The member around the offer, if any, and the offer's own.
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
        // A member of another shape than an object says nothing and is replaced.
        let inside = capabilities.get(around).and_then(|raw| Object::from_raw(&raw).ok());
        let mut inside = inside.unwrap_or_default();
        inside.set(name, offer);
        capabilities.set(around, inside.to_raw());
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (around, name) = self.path();
        match around {
            Some(around) => write!(f, "{around}[\"{name}\"]"),
            None => f.write_str(name),
        }
    }
}

/// A peer's offer that cannot be understood. The peer is treated as one that made none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("malformed offer in {place}")]
#[non_exhaustive]
pub struct OfferError {
    /// Where the offer stands.
    pub place: Place,
    /// What is wrong with it.
    #[source]
    pub fault: OfferFault,
}

/// What is wrong with an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OfferFault {
    /// It is not an object.
    #[error("not an object")]
    NotAnObject,
    /// The version is missing or not a semantic one.
    #[error("no semantic version in `version`")]
    Version,
    /// The extensions are missing or not a list of names.
    #[error("no list of names in `extensions`")]
    Extensions,
    /// The permissions are not a list of names.
    #[error("no list of names in `permissions_required`")]
    PermissionsRequired,
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut out = vec![b'['];
    for name in names {
        if out.len() > 1 {
            out.push(b',');
        }
        write_string(&mut out, name);
    }
    out.push(b']');
    out
}

const KNOWN: [&str; 5] = ["version", "extensions", "permissions_required", "server_id", "trust_level"];

#[cfg(test)]
mod tests;
