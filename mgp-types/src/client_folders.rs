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
    /// True if the client is a process of this machine.
    is_process: bool,
    /// The roots, if the client can be asked for them.
    roots: Option<ArcSwap<ClientRoots>>,
}

#[derive(Debug)]
enum ClientRoots {
    /// The client was not asked yet, or its roots have changed since.
    Unasked,
    /// The client gave no answer.
    Nothing,
    /// The roots that may be opened.
    Declared(Vec<PathBuf>),
}

/// A question to a client for its roots, which an answer belongs to.
#[derive(Debug)]
pub struct RootsQuestion(Option<Arc<ClientRoots>>);

impl ClientFolders {
    /// Creates the folders of a process of this machine, with its working folder if that may be opened.
    pub fn of_process(working: Option<PathBuf>) -> Self {
        Self { working, is_process: true, roots: Some(ArcSwap::from_pointee(ClientRoots::Unasked)) }
    }

    /// Creates the folders of a session over a network, which has no working folder here.
    pub fn of_session() -> Self {
        Self { is_process: false, ..Self::of_process(None) }
    }

    /// Creates the folders of requests over a network that belong to no session: there are none.
    pub const fn of_requests() -> Self {
        Self { working: None, is_process: false, roots: None }
    }

    /// Returns whether the client has to be asked for its roots before a call is judged by them: it declared some, and
    /// they are not known. A client that describes itself with each request reports no changes, and is asked in each
    /// call; `is_asked` says whether it was in this one.
    pub fn wants_to_be_asked(&self, session: Option<&Session>, is_asked: bool) -> bool {
        let (Some(roots), Some(session)) = (&self.roots, session) else { return false };
        let is_unknown = matches!(**roots.load(), ClientRoots::Unasked);
        (is_unknown || session.describes_each_request() && !is_asked) && session.peer_can(&["roots"])
    }

    /// Begins a question to the client for its roots.
    pub fn question(&self) -> RootsQuestion {
        RootsQuestion(self.roots.as_ref().map(ArcSwap::load_full))
    }

    /// Sets the roots of the answer that may be opened, or `None` if there was no answer. Roots that have changed since
    /// the question began stay unknown.
    pub fn set_roots(&self, question: &RootsQuestion, answer: Option<Vec<PathBuf>>) {
        if let (Some(roots), Some(before)) = (&self.roots, &question.0) {
            let answered = answer.map_or(ClientRoots::Nothing, ClientRoots::Declared);
            roots.compare_and_swap(before, Arc::new(answered));
        }
    }

    /// Forgets the roots, because they have changed.
    pub fn forget_roots(&self) {
        if let Some(roots) = &self.roots {
            roots.store(Arc::new(ClientRoots::Unasked));
        }
    }

    /// Returns whether `path` lies in one of the folders.
    pub fn hold(&self, path: &Path) -> bool {
        self.with_roots(|roots| match roots {
            Some(roots @ [_, ..]) => roots.iter().any(|root| path.starts_with(root)),
            _ => self.working.as_ref().is_some_and(|working| path.starts_with(working)),
        })
    }

    /// Returns all folders.
    pub fn all(&self) -> Vec<PathBuf> {
        self.with_roots(|roots| match roots {
            Some(roots @ [_, ..]) => roots.to_vec(),
            _ => self.working.iter().cloned().collect(),
        })
    }

    /// Returns whether nothing says where the client works: it is a process of this machine that declared no roots and
    /// was started in no particular folder.
    pub fn are_unsaid(&self) -> bool {
        self.is_process && self.working.is_none() && self.with_roots(|roots| roots.is_none())
    }

    fn with_roots<T>(&self, look: impl FnOnce(Option<&[PathBuf]>) -> T) -> T {
        match self.roots.as_ref().map(ArcSwap::load).as_deref().map(|roots| &**roots) {
            Some(ClientRoots::Declared(roots)) => look(Some(roots)),
            _ => look(None),
        }
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
