use mgp_types::mgp::{Extension, ExtensionSet, ListedServer, ServerFilter, ServerStatus};

use super::{Registered, ServerView};

impl ServerView {
    /// A server that waits for its approval.
    pub(super) fn pending(server: &Registered) -> Self {
        let mut view = Self::new(server.id.clone(), ServerStatus::PendingApproval, server.trust);
        view.extensions.clone_from(&server.extensions);
        view.permissions.clone_from(&server.permissions);
        view
    }

    /// Whether all holds that the filter asks for.
    pub(super) fn passes(&self, filter: &ServerFilter) -> bool {
        if filter.status.is_some_and(|status| status != self.status) {
            return false;
        }
        if !filter.permissions.iter().all(|permission| self.permissions.contains(permission)) {
            return false;
        }
        // Later drafts have other names for some of the extensions.
        let has = ExtensionSet::from_names(&self.extensions);
        filter.extensions.iter().all(|name| has.contains(&Extension::from(name.as_str())))
    }
}

impl From<ServerView> for ListedServer {
    fn from(view: ServerView) -> Self {
        let mut listed = Self::new(view.id, view.status, view.trust);
        listed.mgp_version = view.mgp_version;
        listed.extensions = view.extensions;
        listed.tools = view.tools;
        listed
    }
}
