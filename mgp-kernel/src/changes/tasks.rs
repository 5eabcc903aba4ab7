use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::ServerId;
use mgp_types::{Object, Principal, RawJson};
use parking_lot::Mutex;

/// Which server has a task, as far as answers told; the oldest are forgotten when there are too many.
///
/// Ids are the servers' own and stay as they are. Two servers may choose the same one: of two tasks of one principal the
/// later is meant. Whether a task is the caller's is decided in front of its server.
#[derive(Default)]
pub(crate) struct TaskBook(Mutex<Known>);

#[derive(Default)]
struct Known {
    servers: HashMap<Key, ServerId, RandomState>,
    begun: VecDeque<Key>,
}

type Key = (Arc<str>, Principal);

impl TaskBook {
    /// Notes the task that began instead of a result, if one did.
    pub(crate) fn learn(&self, principal: &Principal, server: &ServerId, result: &RawJson) {
        let Some(task) = begun(result) else { return };
        let key = (task, principal.clone());
        let mut known = self.0.lock();
        if known.servers.insert(key.clone(), server.clone()).is_some() {
            return;
        }
        known.begun.push_back(key);
        if known.begun.len() > MOST_TASKS
            && let Some(oldest) = known.begun.pop_front()
        {
            known.servers.remove(&oldest);
        }
    }

    /// The server with this task of the principal's.
    pub(crate) fn server(&self, principal: &Principal, task: &str) -> Option<ServerId> {
        self.0.lock().servers.get(&(task.into(), principal.clone())).cloned()
    }
}

/// The task that began instead of a result, as either era says it.
fn begun(result: &RawJson) -> Option<Arc<str>> {
    let result = Object::from_raw(result).ok()?;
    let of_session = result.get("task").and_then(|task| Object::from_raw(&task).ok());
    let id = of_session.as_ref().unwrap_or(&result).text("taskId")?;
    (id.len() <= LONGEST_ID).then(|| id.as_ref().into())
}

const MOST_TASKS: usize = 65_536;
const LONGEST_ID: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text).unwrap()
    }

    #[test]
    fn a_task_is_learned_from_the_answers_of_both_eras_and_only_for_its_principal() {
        let book = TaskBook::default();
        let (one, other) = (Principal::new("one"), Principal::new("other"));
        book.learn(&one, &"a".into(), &raw(r#"{"task":{"taskId":"x"}}"#));
        book.learn(&one, &"b".into(), &raw(r#"{"resultType":"task","taskId":"y"}"#));
        book.learn(&one, &"c".into(), &raw(r#"{"content":[{"text":"taskId"}]}"#));
        assert_eq!(book.server(&one, "x"), Some("a".into()));
        assert_eq!(book.server(&one, "y"), Some("b".into()));
        assert_eq!(book.server(&other, "x"), None);
    }

    #[test]
    fn the_oldest_task_is_forgotten_when_there_are_too_many() {
        let book = TaskBook::default();
        let caller = Principal::new("one");
        for number in 0..=MOST_TASKS {
            let result = RawJson::parse(format!(r#"{{"taskId":"{number}"}}"#)).unwrap();
            book.learn(&caller, &"a".into(), &result);
        }
        assert_eq!(book.server(&caller, "0"), None);
        assert!(book.server(&caller, "1").is_some());
    }
}
