//! The progress of tasks, which outlives the calls that began them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use mgp_types::mcp::task::TaskStatus;
use mgp_types::{Object, RawJson, Session};
use parking_lot::Mutex;
use tokio::time::Instant;

/// The sessions that get the progress of one server's tasks: a token is good for as long as its task goes on, which is
/// longer than the call that began it. Where there are too many the oldest are forgotten, and each is after a day.
#[derive(Default)]
pub(super) struct TaskProgress {
    /// The tasks by the number that the server reports under; the oldest first.
    followed: Mutex<BTreeMap<u64, FollowedTask>>,
    /// The number of tasks, so that calls of a server without tasks take no lock.
    count: AtomicUsize,
}

struct FollowedTask {
    task: Arc<str>,
    session: Weak<Session>,
    /// The client's own progress token.
    token: RawJson,
    until: Instant,
}

impl TaskProgress {
    /// Notes that the server's own `task` goes on, and reports under `number`.
    pub(super) fn follow(&self, number: u64, task: Arc<str>, session: &Arc<Session>, token: RawJson) {
        let session = Arc::downgrade(session);
        let now = Instant::now();
        let mut followed = self.followed.lock();
        followed.retain(|_, other| other.until > now && other.session.strong_count() > 0);
        followed.insert(number, FollowedTask { task, session, token, until: now + LONGEST });
        while followed.len() > MAX_FOLLOWED {
            followed.pop_first();
        }
        self.count.store(followed.len(), Ordering::Release);
    }

    /// Returns the session that gets the progress under this number, and its client's token.
    pub(super) fn reported(&self, number: u64) -> Option<(Arc<Session>, RawJson)> {
        if self.is_empty() {
            return None;
        }
        let followed = self.followed.lock();
        let found = followed.get(&number).filter(|found| found.until > Instant::now())?;
        Some((found.session.upgrade()?, found.token.clone()))
    }

    /// Forgets the task if this status says that it has ended.
    pub(super) fn hear(&self, status: &Object) {
        if self.is_empty() || !TaskStatus::of_task(status).is_some_and(|status| status.is_terminal()) {
            return;
        }
        if let Some(task) = status.text("taskId") {
            self.end(&task);
        }
    }

    /// Forgets the task, which has ended.
    pub(super) fn end(&self, task: &str) {
        let mut followed = self.followed.lock();
        followed.retain(|_, other| *other.task != *task);
        self.count.store(followed.len(), Ordering::Release);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

const MAX_FOLLOWED: usize = 1024;
const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests {
    use mgp_types::Revision;

    use super::*;

    fn session() -> Arc<Session> {
        Arc::new(Session::new(Revision::V2025_11_25))
    }

    fn status(task: &str, status: &str) -> Object {
        Object::parse(format!(r#"{{"taskId":"{task}","status":"{status}"}}"#)).unwrap()
    }

    fn follow(tasks: &TaskProgress, number: u64, session: &Arc<Session>) {
        tasks.follow(number, number.to_string().into(), session, RawJson::from_value("token").unwrap());
    }

    #[test]
    fn progress_is_told_until_the_task_has_ended() {
        let (tasks, session) = (TaskProgress::default(), session());
        follow(&tasks, 1, &session);
        follow(&tasks, 2, &session);
        for going_on in [status("1", "working"), status("1", "input_required"), status("3", "failed")] {
            tasks.hear(&going_on);
        }
        let (to, token) = tasks.reported(1).unwrap();
        assert!(Arc::ptr_eq(&to, &session) && token.as_bytes() == br#""token""#);
        tasks.hear(&status("1", "cancelled"));
        assert!(tasks.reported(1).is_none() && tasks.reported(2).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn tasks_are_bounded_in_number_and_time_and_keep_no_session() {
        let (tasks, one, other) = (TaskProgress::default(), session(), session());
        for number in 0..=MAX_FOLLOWED as u64 {
            follow(&tasks, number, &one);
        }
        assert!(tasks.reported(0).is_none() && tasks.reported(1).is_some());
        drop(one);
        assert!(tasks.reported(1).is_none());
        follow(&tasks, 5000, &other);
        assert_eq!(tasks.followed.lock().len(), 1);
        tokio::time::advance(LONGEST).await;
        assert!(tasks.reported(5000).is_none());
    }
}
