//! Records that are kept beside the pins: findings that operators accepted, and the configuration with which a server
//! listed its definitions.

use std::collections::BTreeMap;
use std::fmt;

use super::{DefinitionKind, DefinitionName, ServerId};
use mgp_types::canonical::Digest;

/// A remark on one definition, which applies only while the definition has this digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remark {
    /// The digest of the definition.
    pub(super) digest: Digest,
    /// The content of the remark.
    pub(super) what: RemarkKind,
}

/// The content of a remark on a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RemarkKind {
    /// An operator approved the definition although this rule finds something in it.
    Accepted(Box<str>),
    /// An operator allowed that lists in the texts of the definition have another order each time, and figures other values.
    AnyOrder,
    /// The definition was in the first list after the configuration of its server had changed.
    Reconfigured,
}

impl fmt::Display for RemarkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted(rule) => write!(f, "{ACCEPTED}{rule}"),
            Self::AnyOrder => f.write_str(ANY_ORDER),
            Self::Reconfigured => f.write_str(RECONFIGURED),
        }
    }
}

impl RemarkKind {
    /// Reads what [`Display`](fmt::Display) wrote; `None` if this version does not know it.
    pub(super) fn read(text: &str) -> Option<Self> {
        match text.strip_prefix(ACCEPTED) {
            Some(rule) => Some(Self::Accepted(rule.into())),
            None if text == ANY_ORDER => Some(Self::AnyOrder),
            None if text == RECONFIGURED => Some(Self::Reconfigured),
            None => None,
        }
    }
}

/// All records that are kept beside the pins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PinAnnotations {
    /// The remarks on definitions, by server and name.
    pub(super) remarks: BTreeMap<ServerId, BTreeMap<DefinitionName, Vec<Remark>>>,
    /// The digest of the configuration with which each server last listed its definitions of each kind.
    pub(super) entries: BTreeMap<(ServerId, DefinitionKind), Digest>,
}

impl PinAnnotations {
    /// Replaces the remarks on the definition with `remarks`.
    pub(super) fn remark(&mut self, server: &ServerId, name: &DefinitionName, remarks: Vec<Remark>) {
        let of_server = self.remarks.entry(server.clone()).or_default();
        if remarks.is_empty() {
            of_server.remove(name);
        } else {
            of_server.insert(name.clone(), remarks);
        }
    }

    /// Returns the remarks on the definition called `name`, whatever digest they are about.
    pub(super) fn on(&self, server: &ServerId, name: &DefinitionName) -> &[Remark] {
        self.remarks.get(server).and_then(|of| of.get(name)).map_or(&[], Vec::as_slice)
    }

    /// Returns the definitions of `kind` that came with a changed configuration.
    pub(super) fn reconfigured(&self, server: &ServerId, kind: DefinitionKind) -> Vec<DefinitionName> {
        let of_server = self.remarks.get(server).into_iter().flatten();
        of_server
            .filter(|(name, remarks)| {
                name.kind() == kind && remarks.iter().any(|remark| remark.what == RemarkKind::Reconfigured)
            })
            .map(|(name, _)| name.clone())
            .collect()
    }
}

const ACCEPTED: &str = "accepted:";
const ANY_ORDER: &str = "any-order";
const RECONFIGURED: &str = "reconfigured";
