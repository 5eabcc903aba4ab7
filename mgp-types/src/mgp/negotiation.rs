//! The result of the negotiation between two sides (§2).

use super::{Extension, ExtensionSet, MgpVersion, Offer};

/// The agreement of two sides: made once per session, or with each stateless request.
///
/// Both sides compute the agreement from the two offers. A server's answer is intersected again, because some servers
/// list all their extensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Negotiated {
    version: MgpVersion,
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
    pub const fn version(&self) -> MgpVersion {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(names: &[&str]) -> Offer {
        Offer::new(ExtensionSet::from_names(names))
    }

    // covers: MGP-2.4-01
    #[test]
    fn both_sides_find_the_same_extensions_active() {
        let (client, server) =
            (offer(&["security", "access_control", "audit"]), offer(&["audit", "streaming", "security"]));
        let answer = server.answer(&client).unwrap();
        let at_client = Negotiated::agree(&client, &answer).unwrap();
        let at_server = Negotiated::agree(&server, &client).unwrap();
        for extension in Extension::STANDARD {
            let active = matches!(extension, Extension::Security | Extension::Audit);
            assert_eq!(at_client.has(&extension), active, "{extension}");
            assert_eq!(at_server.has(&extension), active, "{extension}");
        }
        assert_eq!(at_client.extensions(), at_server.extensions());
    }

    // covers: MGP-2.2-06, MGP-2.2-12
    #[test]
    fn a_server_of_the_specification_and_a_later_client_share_security_and_events() {
        let later = offer(&["permissions", "tool_security", "callbacks", "events", "progress"]);
        let specified = offer(&["security", "bidirectional"]);
        for (ours, theirs) in [(&later, &specified), (&specified, &later)] {
            let negotiated = Negotiated::agree(ours, theirs).unwrap();
            for active in
                [Extension::Security, Extension::Permissions, Extension::Bidirectional, Extension::Events]
            {
                assert!(negotiated.has(&active), "{active}");
            }
            assert!(!negotiated.has(&Extension::Progress));
        }
    }

    // covers: MGP-2.2-15
    #[test]
    fn error_handling_needs_no_name() {
        let negotiated = Negotiated::agree(&offer(&[]), &offer(&[])).unwrap();
        assert!(negotiated.extensions().is_empty());
        assert!(negotiated.has(&Extension::ErrorHandling));
        assert!(!negotiated.has(&Extension::Audit));
        let named = Negotiated::agree(&offer(&[]), &offer(&["error_handling"])).unwrap();
        assert_eq!(named.extensions().names().collect::<Vec<_>>(), ["error_handling"]);
    }

    // covers: MGP-2.4-04
    #[test]
    fn majors_decide_and_the_lower_minor_is_spoken() {
        let at = |major, minor| offer(&[]).with_version(MgpVersion::new(major, minor, 0));
        assert_eq!(Negotiated::agree(&at(0, 2), &at(0, 6)).unwrap().version(), MgpVersion::OURS);
        assert_eq!(Negotiated::agree(&at(0, 2), &at(0, 1)).unwrap().version(), MgpVersion::new(0, 1, 0));
        assert_eq!(Negotiated::agree(&at(0, 2), &at(1, 2)), None);
    }

    #[test]
    fn the_peers_offer_is_kept() {
        let theirs = offer(&["audit"]).with_permissions_required(["shell.execute"]).with_server_id("a.b");
        assert_eq!(*Negotiated::agree(&offer(&[]), &theirs).unwrap().peer(), theirs);
    }

    #[test]
    fn static_property_negotiated_is_shared_between_threads() {
        fn shared<T: Send + Sync + 'static>() {}
        shared::<Negotiated>();
    }
}
