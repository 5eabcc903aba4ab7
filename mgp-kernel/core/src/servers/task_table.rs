//! The tasks of all servers, which outlive the calls that began them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use mgp_discovery::config::model::ServerConfig;
use mgp_types::mcp::task::{self, TaskStatus};
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Method, Object, Principal, RawJson, Request, Response, Session};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::servers::upstream::ConnectionKey;

/// The tasks that callers began, as learned from answers. When there are too many, the caller with the most loses one: one
/// that has ended, or else the oldest.
///
/// A server behind one connection cannot tell its callers apart, so each task belongs to the first principal that was told
/// of it, and nobody else can ask about it. Ids are the servers' own and stay as they are, unless a principal has two tasks of
/// one id with two servers: then the later one is shown with its server in front.
#[derive(Default)]
pub(crate) struct TaskTable(Mutex<KnownTasks>);

#[derive(Default)]
struct KnownTasks {
    /// Ordered, so that the tasks of one connection are next to each other.
    tasks: BTreeMap<TaskKey, OwnedTask>,
    by_shown: HashMap<(Arc<str>, Principal), TaskKey, RandomState>,
    /// The tasks of each owner in the order in which they are forgotten.
    by_owner: HashMap<Principal, BTreeMap<TaskRank, TaskKey>, RandomState>,
    /// The number of tasks that were ever noted.
    noted: u64,
}

/// The place of a task among those of its owner: whether it runs, and its number.
type TaskRank = (bool, u64);

/// The identity of a task: where it goes on, and its server's own id for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskKey {
    pub(crate) place: Arc<TaskPlace>,
    pub(crate) own: Arc<str>,
}

/// The place where tasks go on: the program behind one connection, or a server that goes on without the kernel, however
/// often it is connected to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskPlace {
    pub(crate) connection: ConnectionKey,
    /// The address of a server that nobody starts: another one has other tasks of the same ids.
    address: Option<Box<str>>,
}

struct OwnedTask {
    owner: Principal,
    number: u64,
    /// The id by which the owner knows it.
    shown: Arc<str>,
    /// The time until which the task counts as running; `None` once it is known to have ended.
    runs_until: Option<Instant>,
    progress: Option<TaskProgress>,
}

/// The receiver of a task's progress. A token is good for as long as its task goes on, which is longer than the call that
/// began it.
pub(crate) struct TaskProgress {
    /// The number that the server reports under.
    pub(crate) number: u64,
    pub(crate) session: Weak<Session>,
    /// The client's own progress token.
    pub(crate) token: RawJson,
}

impl TaskPlace {
    pub(crate) fn of(connection: &ConnectionKey, server: &ServerConfig) -> Self {
        let address = server.url.as_deref().or(server.socket.as_deref());
        // A task outlives the session of the client that began it, if its server does.
        let client = connection.client.clone().filter(|_| address.is_none());
        Self { connection: ConnectionKey { client, ..connection.clone() }, address: address.map(Into::into) }
    }

    /// Returns whether the tasks end with the connection.
    pub(crate) const fn is_of_program(&self) -> bool {
        self.address.is_none()
    }
}

impl TaskTable {
    /// Notes the task that began instead of a result, if there is one, and puts the id for its owner into the result.
    /// `progress` is asked for only then.
    pub(crate) fn learn(
        &self,
        place: &Arc<TaskPlace>,
        owner: &Principal,
        response: &mut Response,
        progress: impl FnOnce() -> Option<TaskProgress>,
    ) {
        // Most results report no task that has begun, and are not parsed.
        if WORD.find(response.result.as_bytes()).is_none() {
            return;
        }
        let Some(own) = task::begun(&response.result).filter(|id| id.len() <= LONGEST_ID) else { return };
        let key = TaskKey { place: Arc::clone(place), own: own.into() };
        let shown = self.0.lock().note(&key, owner, progress());
        if let Some(shown) = shown.filter(|shown| *shown != key.own) {
            rename(response, &shown);
        }
    }

    /// Returns the task that the principal knows by this id.
    pub(crate) fn find(&self, principal: &Principal, shown: &str) -> Option<TaskKey> {
        self.0.lock().by_shown.get(&(shown.into(), principal.clone())).cloned()
    }

    /// Returns the task that a request is about, if its method is about one task.
    ///
    /// # Errors
    /// Fails if its sender has no such task, in the same way whether somebody else has one or not.
    pub(crate) fn meant_by(&self, request: &Request) -> Result<Option<TaskKey>, Error> {
        if !request.method.as_str().starts_with("tasks/") || request.method == Method::TASKS_LIST {
            return Ok(None);
        }
        let shown = request.params.text("taskId").unwrap_or_default();
        let found = request.context.principal.as_ref().and_then(|sender| self.find(sender, &shown));
        let unknown = || Error::invalid_params(format!("there is no task `{shown}` of yours"));
        found.map(Some).ok_or_else(unknown)
    }

    /// Takes note of a task's status as its server reported it. Returns the owner, and puts the owner's id into the status.
    pub(crate) fn hear(&self, place: &Arc<TaskPlace>, status: &mut Object) -> Option<Principal> {
        let key = TaskKey { place: Arc::clone(place), own: status.text("taskId")?.into() };
        let mut known = self.0.lock();
        if has_ended(status) {
            known.set_running(&key, None, None);
        }
        let task = known.tasks.get(&key)?;
        if task.shown != key.own {
            name(status, &task.shown);
        }
        Some(task.owner.clone())
    }

    /// Takes note of the end of a task.
    pub(crate) fn end(&self, key: &TaskKey) {
        self.0.lock().set_running(key, None, None);
    }

    /// Removes the tasks of other principals from a server's list of tasks, and puts the owner's ids into it.
    ///
    /// # Errors
    /// Fails if the list is none.
    pub(crate) fn keep_own(
        &self,
        place: &Arc<TaskPlace>,
        owner: &Principal,
        response: &mut Response,
    ) -> Result<(), Error> {
        let malformed = || Error::misbehaved("the list of tasks is none");
        response.absorb_stamp();
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let Some(tasks) = result.get("tasks") else { return Ok(()) };
        let mut tasks: Vec<Object> = tasks.to().map_err(|_| malformed())?;
        tasks.retain_mut(|task| self.hear(place, task).as_ref() == Some(owner));
        result.set("tasks", RawJson::from_value(&tasks).map_err(|_| malformed())?);
        response.result = result.to_raw().into();
        Ok(())
    }

    /// Returns the session that gets the progress of a task under this number, and its client's token.
    pub(crate) fn reported(&self, place: &Arc<TaskPlace>, number: u64) -> Option<(Arc<Session>, RawJson)> {
        let known = self.0.lock();
        let running = known.of(place).filter(|(_, task)| task.is_running());
        let mut followed = running.filter_map(|(_, task)| task.progress.as_ref());
        let progress = followed.find(|progress| progress.number == number)?;
        Some((progress.session.upgrade()?, progress.token.clone()))
    }

    /// Returns whether a task goes on there, as far as is known. A task whose end was never reported counts as running for
    /// a day at most.
    pub(crate) fn has_unfinished(&self, place: &Arc<TaskPlace>) -> bool {
        self.0.lock().of(place).any(|(_, task)| task.is_running())
    }

    /// Forgets all tasks of a program that has ended: its successor may use their ids again.
    pub(crate) fn end_of_program(&self, place: &Arc<TaskPlace>) {
        let mut known = self.0.lock();
        if known.of(place).next().is_some() {
            known.retain(|other| other != place);
        }
    }

    /// Forgets the tasks of a server that is gone.
    pub(crate) fn end_of_server(&self, server: &ServerId) {
        self.0.lock().retain(|place| place.connection.server != *server);
    }
}

impl KnownTasks {
    /// Notes a task, and returns the id by which the owner knows it; `None` if it is another principal's.
    fn note(&mut self, key: &TaskKey, owner: &Principal, progress: Option<TaskProgress>) -> Option<Arc<str>> {
        let runs_until = Some(Instant::now() + LONGEST);
        if let Some(known) = self.tasks.get(key) {
            let shown = (known.owner == *owner).then(|| Arc::clone(&known.shown))?;
            self.set_running(key, runs_until, progress);
            return Some(shown);
        }
        let mut shown = (Arc::clone(&key.own), owner.clone());
        while self.by_shown.contains_key(&shown) {
            shown.0 = format!("{}/{}", key.place.connection.server, shown.0).into();
        }
        if self.tasks.len() >= MAX_TASKS {
            self.forget_one();
        }
        self.noted += 1;
        let (number, name) = (self.noted, Arc::clone(&shown.0));
        let task = OwnedTask { owner: owner.clone(), number, shown: name, runs_until, progress };
        self.by_owner.entry(owner.clone()).or_default().insert(task.rank(), key.clone());
        self.tasks.insert(key.clone(), task);
        let name = Arc::clone(&shown.0);
        self.by_shown.insert(shown, key.clone());
        Some(name)
    }

    /// Takes note of the time until which a task counts as running, and of who gets its progress.
    fn set_running(&mut self, key: &TaskKey, until: Option<Instant>, progress: Option<TaskProgress>) {
        let Some(task) = self.tasks.get_mut(key) else { return };
        let before = task.rank();
        (task.runs_until, task.progress) = (until, progress);
        if let Some(own) = self.by_owner.get_mut(&task.owner) {
            own.remove(&before);
            own.insert(task.rank(), key.clone());
        }
    }

    /// Forgets a task of the owner with the most.
    fn forget_one(&mut self) {
        let Some((owner, own)) = self.by_owner.iter_mut().max_by_key(|(_, own)| own.len()) else { return };
        let Some((_, key)) = own.pop_first() else { return };
        if let Some(task) = self.tasks.remove(&key) {
            self.by_shown.remove(&(task.shown, owner.clone()));
        }
    }

    /// Returns the tasks that go on at this place.
    fn of(&self, place: &Arc<TaskPlace>) -> impl Iterator<Item = (&TaskKey, &OwnedTask)> {
        let first = TaskKey { place: Arc::clone(place), own: "".into() };
        self.tasks.range(first..).take_while(|(key, _)| key.place == *place)
    }

    fn retain(&mut self, keep: impl Fn(&Arc<TaskPlace>) -> bool) {
        self.tasks.retain(|key, _| keep(&key.place));
        self.by_shown.retain(|_, key| keep(&key.place));
        self.by_owner.retain(|_, own| {
            own.retain(|_, key| keep(&key.place));
            !own.is_empty()
        });
    }
}

impl OwnedTask {
    fn is_running(&self) -> bool {
        self.runs_until.is_some_and(|until| until > Instant::now())
    }

    const fn rank(&self) -> TaskRank {
        (self.runs_until.is_some(), self.number)
    }
}

/// Returns whether the task with this status can no longer change.
pub(crate) fn has_ended(status: &Object) -> bool {
    TaskStatus::of_task(status).is_some_and(|status| status.is_terminal())
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
    if object.contains("taskId") {
        object.set("taskId", RawJson::from_text(shown));
    }
}

/// The member name by which a result that may begin a task is recognized.
static WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""taskId""#));
const MAX_TASKS: usize = 65_536;
const LONGEST_ID: usize = 256;
/// The longest time for which a task whose end was not reported counts as running.
const LONGEST: Duration = Duration::from_hours(24);

#[cfg(test)]
mod tests;
