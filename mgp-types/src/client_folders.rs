//! The folders of this machine in which a client works.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::Session;

/// The folders of this machine in which the client of one connection works: the roots that it declares over MCP, or
/// else its working folder. Shared by all requests of the connection.
#[derive(Debug)]
pub struct ClientFolders {
    working: Option<PathBuf>,
    place: ClientPlace,
    roots: ArcSwap<ClientRoots>,
}

/// The way on which a client came, as far as it decides about its folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientPlace {
    /// A process of this machine, at a connection of its own.
    Process,
    /// A session over a network.
    Session,
    /// Requests over a network that belong to no session, so that nothing is remembered between two of them.
    Requests,
}

/// The roots of a client.
#[derive(Debug)]
enum ClientRoots {
    /// The client was not asked yet, or its roots have changed since.
    Unasked,
    /// The client has none, or gave no answer.
    Nothing,
    /// The client declared some, of which these may be opened.
    Declared(Vec<PathBuf>),
}

/// A question to a client for its roots, which an answer belongs to.
#[derive(Debug)]
pub struct RootsQuestion(Arc<ClientRoots>);

impl ClientFolders {
    /// Creates the folders of a process of this machine, with its working folder if that may be opened.
    pub fn of_process(working: Option<PathBuf>) -> Self {
        Self::new(working, ClientPlace::Process)
    }

    /// Creates the folders of a session over a network, which has no working folder here.
    pub fn of_session() -> Self {
        Self::new(None, ClientPlace::Session)
    }

    /// Creates the folders of requests over a network that belong to no session: there are none.
    pub fn of_requests() -> Self {
        Self::new(None, ClientPlace::Requests)
    }

    fn new(working: Option<PathBuf>, place: ClientPlace) -> Self {
        Self { working, place, roots: ArcSwap::from_pointee(ClientRoots::Unasked) }
    }

    /// Returns whether the client has to be asked for its roots before a call is judged by them: it declared some, and
    /// they are not known. A client that describes itself with each request reports no changes, and is asked in each
    /// call; `is_asked` says whether it was in this one.
    pub fn wants_to_be_asked(&self, session: Option<&Session>, is_asked: bool) -> bool {
        let Some(session) = session.filter(|_| self.place != ClientPlace::Requests) else { return false };
        let is_unknown = matches!(**self.roots.load(), ClientRoots::Unasked);
        (is_unknown || session.describes_each_request() && !is_asked) && session.peer_can(&["roots"])
    }

    /// Begins a question to the client for its roots.
    pub fn question(&self) -> RootsQuestion {
        RootsQuestion(self.roots.load_full())
    }

    /// Sets the roots of the answer that may be opened, or `None` if there was no answer. Roots that have changed since
    /// the question began stay unknown.
    pub fn set_roots(&self, question: &RootsQuestion, roots: Option<Vec<PathBuf>>) {
        let roots = roots.map_or(ClientRoots::Nothing, ClientRoots::Declared);
        self.roots.compare_and_swap(&question.0, Arc::new(roots));
    }

    /// Forgets the roots, because they have changed.
    pub fn forget_roots(&self) {
        self.roots.store(Arc::new(ClientRoots::Unasked));
    }

    /// Returns whether `path` lies in one of the folders.
    pub fn hold(&self, path: &Path) -> bool {
        match &**self.roots.load() {
            ClientRoots::Declared(roots) if !roots.is_empty() => roots.iter().any(|root| path.starts_with(root)),
            _ => self.working.as_ref().is_some_and(|working| path.starts_with(working)),
        }
    }

    /// Returns all folders.
    pub fn all(&self) -> Vec<PathBuf> {
        match &**self.roots.load() {
            ClientRoots::Declared(roots) if !roots.is_empty() => roots.clone(),
            _ => self.working.iter().cloned().collect(),
        }
    }

    /// Returns whether nothing says where the client works: it is a process of this machine that declared no roots and
    /// was started in no particular folder.
    pub fn are_unsaid(&self) -> bool {
        let has_declared = matches!(**self.roots.load(), ClientRoots::Declared(_));
        self.place == ClientPlace::Process && self.working.is_none() && !has_declared
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, Revision};

    fn set(folders: &ClientFolders, roots: Option<Vec<PathBuf>>) {
        folders.set_roots(&folders.question(), roots);
    }

    #[test]
    fn roots_go_before_the_working_folder_and_those_of_which_none_may_be_opened_do_not() {
        let folders = ClientFolders::of_process(Some("/a".into()));
        let holds = |path: &str| folders.hold(path.as_ref());
        assert!(holds("/a/x") && !holds("/ab") && !holds("/b/x"));
        set(&folders, Some(vec!["/b".into()]));
        assert!(!holds("/a/x") && holds("/b/x"));
        assert_eq!(folders.all(), [PathBuf::from("/b")]);
        for roots in [None, Some(Vec::new())] {
            set(&folders, roots);
            assert!(holds("/a/x") && !holds("/b/x"));
        }
    }

    #[test]
    fn a_client_is_asked_once_until_its_roots_change() {
        let mut session = Session::new(Revision::V2025_11_25);
        assert!(!ClientFolders::of_session().wants_to_be_asked(Some(&session), false));
        session.capabilities = Object::parse(r#"{"roots":{}}"#).unwrap();
        let folders = ClientFolders::of_session();
        assert!(folders.wants_to_be_asked(Some(&session), false) && !folders.wants_to_be_asked(None, false));
        set(&folders, None);
        assert!(!folders.wants_to_be_asked(Some(&session), false));
        let question = folders.question();
        folders.forget_roots();
        folders.set_roots(&question, Some(vec!["/old".into()]));
        assert!(folders.wants_to_be_asked(Some(&session), false));
        assert!(!ClientFolders::of_requests().wants_to_be_asked(Some(&session), false));
        session.revision = Revision::V2026_07_28;
        set(&folders, None);
        assert!(folders.wants_to_be_asked(Some(&session), false));
        assert!(!folders.wants_to_be_asked(Some(&session), true));
    }

    #[test]
    fn only_a_process_that_declared_nothing_may_work_anywhere() {
        let folders = ClientFolders::of_process(None);
        assert!(folders.are_unsaid());
        set(&folders, Some(Vec::new()));
        assert!(!folders.are_unsaid());
        assert!(!ClientFolders::of_session().are_unsaid() && !ClientFolders::of_requests().are_unsaid());
        assert!(!ClientFolders::of_process(Some("/a".into())).are_unsaid());
    }
}
