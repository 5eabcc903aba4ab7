//! The servers of tasks, and the ids under which callers know them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mcp::task;
use mgp_types::mgp::ServerId;
use mgp_types::{Object, Principal, RawJson, Response};
use parking_lot::Mutex;

/// The server of each task, as learned from answers; the oldest tasks are forgotten when there are too many.
///
/// Ids are the servers' own and stay as they are, unless a principal has two tasks of one id with two servers: then the
/// later one is shown with its server in front. Whether a task is the caller's is decided in front of its server.
#[derive(Default)]
pub(crate) struct TaskLocations(Mutex<KnownTasks>);

/// The server of a task, and the task's id there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskLocation {
    pub(crate) server: ServerId,
    /// The server's own id.
    pub(crate) own: Arc<str>,
}

#[derive(Default)]
struct KnownTasks {
    places: HashMap<TaskKey, TaskLocation, RandomState>,
    begun: VecDeque<TaskKey>,
}

/// The id that is shown to a principal, and the principal.
type TaskKey = (Arc<str>, Principal);

impl TaskLocations {
    /// Notes the task that began instead of a result, if there is one, and puts the id for its caller into the result.
    pub(crate) fn learn(&self, principal: &Principal, server: &ServerId, response: &mut Response) {
        let Some(own) = begun(&response.result) else { return };
        let place = TaskLocation { server: server.clone(), own: Arc::clone(&own) };
        let shown = self.note(principal, place);
        if shown != own {
            rename(response, &shown);
        }
    }

    fn note(&self, principal: &Principal, place: TaskLocation) -> Arc<str> {
        let mut known = self.0.lock();
        let mut key = (Arc::clone(&place.own), principal.clone());
        while let Some(other) = known.places.get(&key) {
            if *other == place {
                return key.0;
            }
            key.0 = qualified(&place.server, &key.0);
        }
        let shown = Arc::clone(&key.0);
        known.places.insert(key.clone(), place);
        known.begun.push_back(key);
        if known.begun.len() > MAX_TASKS
            && let Some(oldest) = known.begun.pop_front()
        {
            known.places.remove(&oldest);
        }
        shown
    }

    /// Returns the task that the principal knows by this id.
    pub(crate) fn find(&self, principal: &Principal, shown: &str) -> Option<TaskLocation> {
        self.0.lock().places.get(&(shown.into(), principal.clone())).cloned()
    }

    /// Returns the id by which the principal knows a server's task, if it is the principal's.
    pub(crate) fn shown(&self, principal: &Principal, server: &ServerId, own: &str) -> Option<Arc<str>> {
        let known = self.0.lock();
        let mut key = (Arc::from(own), principal.clone());
        while let Some(place) = known.places.get(&key) {
            if place.server == *server && &*place.own == own {
                return Some(key.0);
            }
            key.0 = qualified(server, &key.0);
        }
        None
    }
}

fn qualified(server: &ServerId, id: &str) -> Arc<str> {
    format!("{server}/{id}").into()
}

/// Puts this id into an answer about a task.
pub(crate) fn rename(response: &mut Response, shown: &str) {
    let Ok(mut result) = Object::from_raw(&response.result) else { return };
    match result.object("task") {
        Some(mut task) => {
            name(&mut task, shown);
            result.set("task", task.to_raw());
        }
        None => name(&mut result, shown),
    }
    response.result = result.to_raw().into();
}

/// Puts this id into an object that has the id of a task.
pub(crate) fn name(object: &mut Object, shown: &str) {
    if object.contains("taskId")
        && let Ok(shown) = RawJson::from_value(shown)
    {
        object.set("taskId", shown);
    }
}

/// Returns the id of the task that began instead of a result, if the id is short enough to be kept.
pub(crate) fn begun(result: &RawJson) -> Option<Arc<str>> {
    task::begun(result).filter(|id| id.len() <= LONGEST_ID).map(Into::into)
}

const MAX_TASKS: usize = 65_536;
const LONGEST_ID: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the notification about a task for the result with which a server answers.
    fn learned(book: &TaskLocations, principal: &Principal, server: &str, result: &str) -> String {
        let mut response = Response::new(RawJson::parse(result.to_owned()).unwrap());
        book.learn(principal, &server.into(), &mut response);
        String::from_utf8(response.result.as_bytes().to_vec()).unwrap()
    }

    fn place(server: &str, own: &str) -> TaskLocation {
        TaskLocation { server: server.into(), own: own.into() }
    }

    #[test]
    fn a_task_is_learned_from_the_answers_of_both_eras_and_only_for_its_principal() {
        let book = TaskLocations::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        for (server, result) in [
            ("a", r#"{"task":{"taskId":"x"}}"#),
            ("b", r#"{"resultType":"task","taskId":"y"}"#),
            ("c", r#"{"content":[{"text":"taskId"}]}"#),
        ] {
            assert_eq!(learned(&book, &one, server, result), result);
        }
        assert_eq!(book.find(&one, "x"), Some(place("a", "x")));
        assert_eq!(book.find(&one, "y"), Some(place("b", "y")));
        assert_eq!(book.find(&other, "x"), None);
        assert_eq!(book.shown(&other, &"a".into(), "x"), None);
    }

    #[test]
    fn of_two_tasks_of_one_id_the_later_has_its_server_in_front() {
        let book = TaskLocations::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        let of_session = r#"{"task":{"taskId":"1","status":"working"}}"#;
        let stateless = r#"{"resultType":"task","taskId":"1"}"#;
        assert_eq!(learned(&book, &one, "a", of_session), of_session);
        let renamed = r#"{"task":{"taskId":"b/1","status":"working"}}"#;
        for _ in 0..2 {
            assert_eq!(learned(&book, &one, "b", of_session), renamed);
        }
        assert_eq!(learned(&book, &one, "c", stateless), r#"{"resultType":"task","taskId":"c/1"}"#);
        // One that is called like that by itself is no other's.
        let strange = learned(&book, &one, "d", r#"{"taskId":"b/1"}"#);
        assert_eq!(strange, r#"{"taskId":"d/b/1"}"#);
        assert_eq!(learned(&book, &other, "b", of_session), of_session);
        for (principal, shown, server, own) in [
            (&one, "1", "a", "1"),
            (&one, "b/1", "b", "1"),
            (&one, "c/1", "c", "1"),
            (&one, "d/b/1", "d", "b/1"),
            (&other, "1", "b", "1"),
        ] {
            assert_eq!(book.find(principal, shown), Some(place(server, own)), "{shown}");
            assert_eq!(book.shown(principal, &server.into(), own).as_deref(), Some(shown));
        }
    }

    #[test]
    fn the_oldest_task_is_forgotten_when_there_are_too_many() {
        let book = TaskLocations::default();
        let caller = Principal::new("one");
        for number in 0..=MAX_TASKS {
            learned(&book, &caller, "a", &format!(r#"{{"taskId":"{number}"}}"#));
        }
        assert_eq!(book.find(&caller, "0"), None);
        assert!(book.find(&caller, "1").is_some());
    }
}
